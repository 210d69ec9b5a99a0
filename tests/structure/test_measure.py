"""Specification of the structure's table, its limits, and the executed request."""

from __future__ import annotations

import pytest
from asserting import some

from benchmarks.structure.measure import (
    Structure,
    request_rows,
    server_rows,
    unnamed,
)
from benchmarks.structure.request import record, walk_request
from benchmarks.structure.rows import Row, table

from .test_rooms import FILES, LIMITS
from .trees import PACKAGE, tree

TREE = {"a/one.py": "import house.b.two\n", "b/two.py": "def act():\n    return 1\n"}


def limits(**changed):
    """Return the exact measurements of `TREE` as limits."""
    circles = {"files": 0, "rooms": 0, "files_with_lazy": 0, "rooms_with_lazy": 0}
    sizes = {
        "small_files": 1,
        "lines": 3,
        "code_lines": 3,
        "long_function_lines": 1,
        "long_functions": 0,
        "function_lines": 1,
        "file_lines": 2,
    }
    whole = {
        "rooms": {"order": [["a"], ["b"]]},
        "libraries": {},
        "circles": circles,
        "sizes": sizes,
        "request_fields": {"fields": [["priority"]], "enough": 1, "files": 0},
        "files": {"most": 1, "more": {}},
        "lines": {"a": 1, "b": 2},
    }
    for name, values in changed.items():
        whole[name] = whole[name] | values
    return whole


def violations(texts, **changed):
    """Return the violations of a package's limits."""
    rows = Structure(PACKAGE, tree(texts), limits(**changed)).rows()
    return [row.violation for row in some(rows) if row.violation]


def test_a_package_within_its_limits_has_no_violation():
    """Each measurement may be as large as its limit."""
    assert [] == violations(TREE)


def test_a_circle_of_rooms_behind_type_checking_is_a_violation():
    """It is named with its members, and counts for files and for rooms."""
    back = "if TYPE_CHECKING:\n    import house.a.one\n"
    sentences = violations(
        {**TREE, "b/two.py": back},
        sizes={"lines": 9, "code_lines": 9},
    )

    assert [
        "files in circles: 2; at most 0.\n    a/one.py <-> b/two.py",
        "rooms in circles: 2; at most 0.\n    a <-> b",
    ] == sentences[:2]


def test_too_many_files_are_a_violation():
    """All rooms have the same limit, unless their own is larger."""
    texts = {**TREE, "a/three.py": ""}

    assert ["files in a/: 2; at most 1."] == violations(texts)
    assert [] == violations(texts, files={"more": {"a": 2}})


def test_a_room_without_a_limit_of_lines_is_a_violation():
    """A new room needs a limit."""
    (sentence,) = violations(TREE, lines={"a": 0})

    assert "lines in a/: 1; at most 0." == sentence


def test_a_structural_limit_follows_an_improvement():
    """So it never rises again; a limit of sizes may remain larger."""
    better = Row("circles", 2, 3, structural=True)

    assert "circles: 2 is better than its limit of 3" in better.violation
    assert "" == Row("lines", 2, 3).violation


@pytest.mark.parametrize(("today", "sentence"), [(50, ""), (49, "at least 50")])
def test_a_limit_can_be_a_minimum(today, sentence):
    """A smaller value is a violation."""
    violation = Row("share", today, 50, at_least=True).violation

    assert sentence in violation
    assert bool(sentence) == bool(violation)


def test_the_table_has_a_row_for_each_measurement():
    """Each measurement is shown with its limit."""
    text = table([Row("circles", 2, 3), Row("share", 15, 50, at_least=True)])

    assert [
        ["today", "limit"],
        ["circles", "2", "3"],
        ["share", "15", "≥50"],
    ] == [line.split() for line in text.splitlines()]


def test_a_server_is_measured_with_its_ancestors_and_attributes():
    """Private names do not count; attributes of an instance do."""

    class Base:
        def inherited(self):
            pass

    class Server(Base):
        def __init__(self):
            self.attribute = self._private = 1

    ancestors, names = server_rows(
        Server(), {"server": {"ancestors": 1, "public_names": 2}}
    )

    assert ["Base"] == ancestors.found
    assert ["attribute", "inherited"] == names.found


def test_executed_lines_are_counted_by_file_and_function(tmp_path):
    """Each line once, functions by name, without other folders."""
    text = (
        "def twice(x):\n    return [one(x) for _ in (1, 2)]\n"
        "def one(x):\n    return x\n"
    )
    namespace = {}
    exec(compile(text, f"{tmp_path}/a.py", "exec"), namespace)

    walk = record(lambda: namespace["twice"](1), str(tmp_path))

    assert {"a.py": {2, 4}} == walk.lines
    assert {("a.py", "twice"), ("a.py", "one")} == walk.functions
    assert 1 == walk.share(["a.py"])


def test_frames_are_counted_between_the_caller_and_each_execute(tmp_path):
    """Neither the caller nor ``execute`` itself counts, at either of the two calls."""
    models = {"outer": "def execute(call): call()", "inner": "def execute(): pass"}
    namespaces = {name: {} for name in models}
    for name, text in models.items():
        code = compile(text, f"{tmp_path}/{name}/1/model.py", "exec")
        exec(code, namespaces[name])

    def exec_inner():
        namespaces["inner"]["execute"]()

    def start():
        namespaces["outer"]["execute"](exec_inner)

    def infer():
        start()

    walk = record(lambda: infer(), str(tmp_path / "package"))

    assert 2 == walk.frames_to_execute
    assert 1 == walk.frames_per_call


def test_a_request_is_within_its_limits():
    """Files, functions, lines and frames of one request with one BLS call."""
    walk = walk_request()

    rows = request_rows(walk, FILES, LIMITS)
    assert [] == [row.violation for row in some(rows) if row.violation]
    assert walk.frames_to_execute > 0
    assert walk.frames_per_call > 0


def test_the_files_named_by_the_guide_are_counted():
    """By their path or by their name."""
    guide = "`inference_server.py` gives it to `engine/engine.py`."

    assert [] == unnamed(["inference_server.py", "engine/engine.py"], guide)
    assert 1 == len(unnamed(["engine/bls.py"], guide))
