"""Specification of the sizes of a package."""

from __future__ import annotations

from benchmarks.structure import sizes

from .trees import imports, tree

FIELDS = [["request_id"], ["priority"], ["timeout", "timeout_us"]]


def lines(count):
    """Return a text with a number of lines."""
    return "x = 1\n" * count


def test_files_are_counted_by_folder():
    """Each folder by itself, without its ``__init__.py``."""
    files = tree({"a.py": "", "r/__init__.py": "", "r/b.py": "", "r/in/c.py": ""})

    assert {"": 1, "r": 1, "r/in": 1} == sizes.files_per_folder(files)


def test_lines_are_counted_by_folder():
    """Each folder without its subfolders, all lines."""
    files = tree({"a.py": lines(2), "r/b.py": lines(3), "r/c.py": lines(4)})

    assert {"": 2, "r": 7} == sizes.lines_per_folder(files)


def test_blank_lines_comments_and_docstrings_are_not_code():
    """Docstrings of constants do not count, either."""
    text = '''
    """A module."""

    # A comment.
    LIMIT = 1
    """Maximum number of
    lines."""
    def act():
        """Act."""
        return LIMIT  # a remark
    '''

    assert 3 == tree({"a.py": text})["a.py"].code_lines


def test_a_small_file_with_one_importer_is_counted():
    """Not one with two importers, with none, or a long one."""
    texts = {
        "one.py": lines(70),
        "two.py": lines(1),
        "long.py": lines(71),
        "none.py": "import house.one, house.two, house.long\nimport house.one",
        "other.py": "import house.two",
    }

    assert ["one.py"] == sizes.small_files(tree(texts), imports(texts))


def test_the_length_of_a_function_is_that_of_its_body():
    """Neither its signature nor its docstring counts."""
    text = '''
    def act(
        one,
        two,
    ):
        """Act.

        In words.
        """
        if one:
            return two
        return one
    '''
    files = tree({"a.py": text})

    assert (3, "a.py:1 act") == sizes.longest_function(files)
    assert [] == sizes.long_functions(files, 3)
    assert ["a.py:1 act"] == sizes.long_functions(files, 2)


def test_a_file_that_spells_most_fields_is_counted():
    """Names, attributes, parameters, keywords and strings count."""
    texts = {
        "names.py": "request_id, priority = 1, 2",
        "parameters.py": "def f(self, *, request_id): return self._priority",
        "keywords.py": "f(timeout=1, **{'priority': 2})",
        "one.py": "f(timeout=1, timeout_us=2)",
        "words.py": "'request_id priority'  # priority, timeout",
        "docs.py": "'''priority'''\nrequest_id = 1",
    }
    found = sizes.spelling(tree(texts), FIELDS, 2)

    assert ["names.py", "parameters.py", "keywords.py"] == found
