"""Specification of how tests are dealt out to processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dealing import DURATIONS, TOGETHER, next_share, share_of

TESTS = Path(__file__).parent
SECONDS = {"tests/conformance/test_a.py": 30, "tests/engine/test_b.py": 9}


@pytest.mark.parametrize(
    ("test", "share"),
    [
        (
            "tests/browser/test_live.py::test_a[b-x/y.py::z]",
            "browser with Jupyter",
        ),
        ("tests/browser/test_graph.py::test_a", "browser"),
        ("tests/notebooks/test_binder.py::test_a", "notebooks"),
        ("tests/conformance/test_bls.py::test_a[b]", "tests/conformance/test_bls.py"),
        ("tests/test_run.py::test_a", "tests/test_run.py"),
    ],
)
def test_tests_that_share_a_server_stay_together(test, share):
    """All others stay with their file."""
    assert share == share_of(test)


@pytest.mark.parametrize(
    ("shares", "waiting_first", "first"),
    [
        ("conformance/a engine/b engine/c", True, "conformance/a"),
        ("conformance/a engine/b engine/c", False, "engine/b"),
        ("engine/c engine/b", True, "engine/b"),
        ("conformance/a conformance/c", False, "conformance/a"),
    ],
)
def test_the_longest_of_the_preferred_kind_is_dealt_first(shares, waiting_first, first):
    """Where none of that kind is left, the longest of the other."""
    room, letter = first.split("/")
    paths = [
        f"tests/{room}/test_{letter}.py"
        for room, letter in (each.split("/") for each in shares.split())
    ]

    found = next_share(paths, SECONDS, waiting_first=waiting_first)

    assert f"tests/{room}/test_{letter}.py" == found


def test_what_stays_together_exists():
    """A file that was renamed would be dealt out without its server."""
    assert [] == [path for path in TOGETHER if not (TESTS.parent / path).exists()]


def test_durations_are_seconds():
    """Of shares that take longer than one."""
    durations = json.loads(DURATIONS.read_text(encoding="utf-8"))

    assert durations
    assert [] == [s for s in durations.values() if not isinstance(s, int) or s < 2]
