"""Specification of the imports that the structure's measurement finds."""

from __future__ import annotations

import pytest

from benchmarks.structure.graph import circles, shortest_path
from benchmarks.structure.imports import Kind

from .trees import imports

TYPING_IMPORT = """
    from typing import TYPE_CHECKING
    if TYPE_CHECKING:
        from house.b import B
"""
LAZY_IMPORT = """
    def act():
        from house.b import B
"""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import house.b", Kind.TOP),
        ("from house import b", Kind.TOP),
        ("from house.b import B", Kind.TOP),
        ("from . import b", Kind.TOP),
        ("from .b import B", Kind.TOP),
        ("try:\n    import house.b\nexcept ImportError:\n    pass", Kind.TOP),
        (TYPING_IMPORT, Kind.TYPING),
        ("import typing\nif typing.TYPE_CHECKING:\n    import house.b", Kind.TYPING),
        (LAZY_IMPORT, Kind.LAZY),
        ("HOMES = {'B': 'house.b'}", Kind.LAZY),
    ],
)
def test_each_form_of_import_is_found(text, kind):
    """The result has file and time of the import."""
    found = imports({"a.py": text, "b.py": "B = 1", "__init__.py": ""}).internal

    assert [("a.py", "b.py", kind)] == [
        (each.importer, each.imported, each.kind) for each in found
    ]


def test_the_other_branch_of_type_checking_is_executed():
    """An import in the ``else`` of ``if TYPE_CHECKING`` is executed."""
    text = "if TYPE_CHECKING:\n    import house.b\nelse:\n    import house.c"
    found = imports({"a.py": text, "b.py": "", "c.py": ""}).internal

    assert [("b.py", Kind.TYPING), ("c.py", Kind.TOP)] == [
        (each.imported, each.kind) for each in found
    ]


def test_a_relative_import_of_a_package_starts_in_its_own_folder():
    """A package's ``__init__.py`` is inside it."""
    texts = {"room/__init__.py": "from . import a", "room/a.py": "from .. import b"}
    found = imports({**texts, "b.py": "", "__init__.py": ""}).internal

    assert [("room/__init__.py", "room/a.py"), ("room/a.py", "b.py")] == [
        (each.importer, each.imported) for each in found
    ]


def test_a_name_that_is_not_a_module_is_imported_from_the_package():
    """``from house.room import name`` imports ``house/room/__init__.py``."""
    found = imports({"a.py": "from house.room import f", "room/__init__.py": ""})

    assert ["room/__init__.py"] == [each.imported for each in found.internal]


def test_a_package_named_in_a_string_is_not_an_import():
    """Loggers are named after packages."""
    texts = {"a.py": "log = getLogger('house.room')", "room/__init__.py": ""}

    assert () == imports(texts).internal


def test_imports_of_libraries_are_listed_separately():
    """Python's own and others, by the named module."""
    found = imports({"a.py": "import os.path\nfrom numpy.linalg import norm"})

    assert ["os", "numpy"] == [each.library for each in found.external]


def test_a_circle_behind_type_checking_is_a_circle():
    """Two files may need each other's types."""
    found = imports({"a.py": TYPING_IMPORT, "b.py": "import house.a"})

    assert [] == circles(found.edges(Kind.TOP))
    assert [["a.py", "b.py"]] == circles(found.edges(Kind.TOP, Kind.TYPING))


def test_a_circle_of_function_level_imports_is_counted_on_request():
    """By default they do not count."""
    found = imports({"a.py": LAZY_IMPORT, "b.py": "import house.a"})

    assert [] == circles(found.edges(Kind.TOP, Kind.TYPING))
    assert [["a.py", "b.py"]] == circles(found.edges())


def test_each_circle_is_found_whole():
    """Nodes that reach each other are one circle; a single node is not."""
    edges = {
        "a": {"b"},
        "b": {"c"},
        "c": {"a", "d"},
        "d": {"e", "f"},
        "e": {"d"},
        "f": {"g"},
    }

    assert [["a", "b", "c"], ["d", "e"]] == circles(edges)


def test_a_long_chain_needs_no_deep_stack():
    """The search does not recurse."""
    edges = {str(n): {str(n + 1)} for n in range(5000)} | {"5000": {"0"}}

    assert [5001] == [len(circle) for circle in circles(edges)]


def test_the_shortest_path_is_found():
    """From a node to the first match; without a match it is empty."""
    edges = {"a": {"b", "c"}, "b": {"d"}, "c": {"b"}}

    assert ["a", "b", "d"] == shortest_path(edges, "a", lambda node: node == "d")
    assert [] == shortest_path(edges, "d", lambda node: node == "a")
