"""Specification of the distribution of tests over processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dealing import DURATIONS, QUIET, TOGETHER, next_share, share_of

TESTS = Path(__file__).parent
SECONDS = {
    "tests/conformance/test_a.py": 30,
    "tests/conformance/test_sequences.py": 40,
    "tests/engine/test_b.py": 9,
}


@pytest.mark.parametrize(
    ("test", "share"),
    [
        (
            "tests/browser/test_live.py::test_a[b-x/y.py::z]",
            "browser with Jupyter",
        ),
        ("tests/browser/test_graph.py::test_a", "browser"),
        ("tests/browser/panel/test_lsp.py::test_a", "browser with the panel"),
        ("tests/notebooks/test_binder.py::test_a", "notebooks"),
        ("tests/recorder/test_replay.py::test_a", "recorder with a real server"),
        ("tests/conformance/test_bls.py::test_a[b]", "tests/conformance/test_bls.py"),
        ("tests/test_run.py::test_a", "tests/test_run.py"),
    ],
)
def test_tests_that_share_a_server_stay_together(test, share):
    """Each other file is a share of its own."""
    assert share == share_of(test)


@pytest.mark.parametrize(
    ("shares", "waiting_first", "first"),
    [
        ("conformance/a engine/b engine/c", True, "conformance/a"),
        ("conformance/a engine/b engine/c", False, "engine/b"),
        ("engine/c engine/b", True, "engine/b"),
        ("conformance/a conformance/c", False, "conformance/a"),
        ("conformance/sequences conformance/c", True, "conformance/c"),
    ],
)
def test_the_longest_share_of_the_preferred_kind_is_first(shares, waiting_first, first):
    """Without shares of that kind, the longest of the other kind; quiet ones last."""
    room, letter = first.split("/")
    paths = [
        f"tests/{room}/test_{letter}.py"
        for room, letter in (each.split("/") for each in shares.split())
    ]

    found = next_share(paths, SECONDS, waiting_first=waiting_first)

    assert f"tests/{room}/test_{letter}.py" == found


def test_files_that_are_distributed_in_a_special_way_exist():
    """A renamed file would start a server of its own, or run on a busy machine."""
    paths = [*TOGETHER, *QUIET]
    assert [] == [path for path in paths if not (TESTS.parent / path).exists()]


def test_durations_are_seconds():
    """Only shares that take longer than one second are recorded."""
    durations = json.loads(DURATIONS.read_text(encoding="utf-8"))

    assert durations
    assert [] == [s for s in durations.values() if not isinstance(s, int) or s < 2]
