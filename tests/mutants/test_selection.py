"""Specification of samples, and of the tests that judge an edit."""

from __future__ import annotations

import pytest

from .sampling import ROOT, sample
from .selection import folders, naming, stages


def test_the_same_seed_gives_the_same_sample():
    """Another seed gives another sample."""
    one, same, other = (sample("blsnb/tensors", "py", 5, seed) for seed in (1, 1, 2))

    assert 5 == len(one)
    assert one == same != other


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("blsnb/views/tree.py", "its own tests"),
        ("blsnb/testing/pool.py", "tests/testing"),
        ("blsnb/errors.py", "its own tests"),
        ("js/src/session/rows.ts", "its own tests"),
        ("js/src/frame/toolbar.ts", "js/test"),
    ],
)
def test_the_nearest_tests_come_first(path, first):
    """They are those that name the file, else those of its folder."""
    assert (ROOT / path).is_file()
    assert first == next(stages(path)).name


def test_folders_of_a_room_follow_from_the_nearest():
    """A file that is a room has the tests beside the rooms."""
    found = folders("blsnb/engine/request/reader.py")

    assert ["tests/engine/request", "tests/engine"] == found
    assert ["tests/test_*.py"] == folders("blsnb/options.py")


def test_each_test_runs_in_one_stage():
    """Later stages omit the tests of earlier ones."""
    own = naming("blsnb/engine/request/reader.py")
    folder, room = list(stages("blsnb/engine/request/reader.py"))[1:3]

    assert own
    assert {f"--ignore={each}" for each in own} <= {*folder.commands[0]}
    assert "--ignore=tests/engine/request" in room.commands[0]
