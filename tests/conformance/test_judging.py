"""A whole session is judged once, from the results of all its processes."""

from __future__ import annotations

import json

import pytest

from .covering import LIVE_SHARE, OBSERVABLE, Deviation, Ledger, statuses
from .judging import covering_tests, is_whole, verdicts

ROWS = [row for row, status in statuses().items() if status == OBSERVABLE]
CHOSEN = {f"tests/conformance/{each}" for each in covering_tests()}


@pytest.fixture
def ledger() -> Ledger:
    """A session in which every row agreed with the running server."""
    agreed = {row: {"case"} for row in ROWS}
    return Ledger(agreed=agreed, live=set(ROWS), chosen=set(CHOSEN))


def found(ledger: Ledger) -> list[str]:
    """Return the faults of a session with a real server."""
    return list(verdicts(ledger, beside_triton=True))


def test_a_session_in_which_all_agreed_is_right(ledger: Ledger) -> None:
    """There are no faults."""
    assert is_whole(ledger)
    assert [] == found(ledger)


def test_a_row_that_no_case_saw_is_named(ledger: Ledger) -> None:
    """Unless only slow tests cover it, which the session leaves out."""
    del ledger.agreed[ROWS[0]]
    assert [f"no case of row {ROWS[0]} agreed, or deviated as declared"] == found(
        ledger
    )

    ledger.left["tests/conformance/test_slow.py::test_it"] = {ROWS[0]}
    assert [] == found(ledger)


def test_a_deviation_needs_its_reason_in_the_documentation(ledger: Ledger) -> None:
    """The words must be equal."""
    known = Deviation("case", "a sample that is never answered", 1, 2)
    ledger.deviations[ROWS[0]] = [known, Deviation("case", "no such reason", 1, 2)]

    page = "docs/reference/deviations.md"
    assert [f"{page} does not contain the reason 'no such reason'"] == found(ledger)


def test_recorded_answers_do_not_replace_the_running_server(ledger: Ledger) -> None:
    """Where it runs it must confirm nearly every row."""
    few = int(LIVE_SHARE * len(ROWS)) - 1
    ledger.live = set(ROWS[:few])

    assert [
        f"only {few} of {len(ROWS)} rows were compared with the running server; "
        "expected 95%"
    ] == found(ledger)
    assert [] == list(verdicts(ledger, beside_triton=False))


@pytest.mark.parametrize("missing", sorted(CHOSEN)[:1])
def test_a_part_of_the_tests_is_no_whole_session(ledger: Ledger, missing: str) -> None:
    """One covering test left out is enough; a slow one may be left to the long run."""
    ledger.chosen.remove(missing)
    assert not is_whole(ledger)

    ledger.left[missing] = set()
    assert is_whole(ledger)


def test_the_ledgers_of_two_processes_add_up(ledger: Ledger) -> None:
    """Each is sent as JSON."""
    half = len(ROWS) // 2
    one = Ledger({row: {"case"} for row in ROWS[:half]}, set(ROWS[:half]))
    other = Ledger(
        {row: {"case"} for row in ROWS[half:]},
        set(ROWS[half:]),
        {ROWS[0]: [Deviation("case", "reason", [1], None)]},
        {"slow": {ROWS[1]}},
        set(CHOSEN),
    )

    together = Ledger()
    for each in (one, other):
        together.merge(json.loads(json.dumps(each.to_plain())))

    ledger.deviations, ledger.left = other.deviations, other.left
    assert ledger == together
