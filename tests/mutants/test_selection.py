"""Specification of samples, and of the tests that judge an edit."""

from __future__ import annotations

import pytest

from . import executed, executed_view
from .edits import Edit
from .sampling import ROOT, Mutant, sample
from .selection import naming, stages

READER = "blsnb/engine/request/reader.py"
OWN = "tests/engine/request/test_reader.py"
NOTHING = Edit(0, 0, "")


@pytest.fixture
def recorded(monkeypatch):
    """Replace the record of what each test executes."""

    def record(*tests):
        keys = executed.executing(Mutant(READER, NOTHING))
        monkeypatch.setattr(executed, "recorded", lambda: dict.fromkeys(keys, tests))

    record()
    view = {"js/src/frame/toolbar.ts": {"js/test/view.test.ts": [(0, 9, 1)]}}
    monkeypatch.setattr(executed_view, "recorded", lambda: view)
    return record


def test_the_same_seed_gives_the_same_sample():
    """Another seed gives another sample."""
    one, same, other = (sample("blsnb/tensors", "py", 5, seed) for seed in (1, 1, 2))

    assert 5 == len(one)
    assert one == same != other


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("blsnb/views/tree.py", "its own tests"),
        ("blsnb/errors.py", "its own tests"),
        ("js/src/session/rows.ts", "its own tests"),
        ("js/src/frame/toolbar.ts", "js/test"),
    ],
)
def test_the_nearest_tests_come_first(recorded, path, first):
    """They are those that name the file, else those that execute it."""
    assert (ROOT / path).is_file()
    assert first == next(stages(Mutant(path, NOTHING))).name


def test_tests_that_execute_an_edited_function_follow_by_room(recorded):
    """Its own room is first; each test runs in one stage, and must still exist."""
    own = naming(READER)
    serving = "tests/serving/core/test_metadata.py"
    near = "tests/engine/request/test_abandoned.py"
    gone = "tests/views/test_gone.py"
    recorded(f"{own[0]}::test_a", serving, near, gone, f"{near}::test_gone")
    first, *others, last = stages(Mutant(READER, NOTHING))

    assert ["its own tests", "types"] == [first.name, last.name]
    assert own == first.commands[0][-len(own) :]
    found = [(each.name, each.commands[0][-1]) for each in others]
    assert [("tests/engine", near), ("tests/serving", serving)] == found


def test_code_of_real_servers_is_also_judged_beside_one(recorded):
    """Only there its functions run; it takes minutes."""
    *_, last = stages(Mutant("blsnb/recorder/stub/frames.py", NOTHING))

    assert ("a real server", False) == (last.name, last.near)
    assert ["env", "-u", "BLSNB_HIDE_TRITON"] == last.commands[0][:3]
