"""The list of the specification's rows: none is lost, and the server confirms them.

What is judged here is the whole session, so these tests run after all others.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

from .covering import (
    LEDGER,
    LIVE_SHARE,
    NOT_YET,
    OBSERVABLE,
    Ledger,
    covered,
    modules,
    statuses,
)
from .reference import GOLDEN, recording

DEVIATIONS = Path(__file__).parents[2] / "docs" / "deviations.md"


@pytest.fixture
def session(request: pytest.FixtureRequest) -> Ledger:
    """What this session saw, where it ran every test that covers a row."""
    if recording():
        pytest.skip("the answers are being recorded")
    ledger = request.config.stash[LEDGER]
    ran = {item.nodeid.split("[")[0] for item in request.session.items}
    ran |= set(ledger.left)
    missing = [
        f"{path}::{name}"
        for path, name in covering_tests()
        if not any(each.endswith(f"{path}::{name}") for each in ran)
    ]
    if missing:
        pytest.skip(f"{len(missing)} covering tests were not chosen")
    return ledger


def covering_tests() -> set[tuple[str, str]]:
    """File and name of every test that covers a row."""
    return {
        (f"{module}.py", test)
        for tests in covered().values()
        for module, test in (each.split(".") for each in tests)
    }


def test_every_row_has_a_status():
    """It is observable, or there is a reason why it is not, or not yet."""
    wrong = {
        row: text
        for row, text in statuses().items()
        if text != OBSERVABLE
        and not (text.startswith(("not: ", NOT_YET)) and len(text) > 12)
    }

    assert {} == wrong


def test_no_row_is_lost():
    """Every observable row is named by a test, and every row named is on the list."""
    status, named = statuses(), covered()
    lost = [row for row in status if status[row] == OBSERVABLE and row not in named]

    assert [] == lost
    assert [] == [row for row in named if row not in status]


def test_what_is_not_observable_is_not_covered():
    """A row that a test covers says so in the list."""
    status = statuses()

    assert [] == [row for row in covered() if status[row] != OBSERVABLE]


def test_marks_name_cases_that_exist():
    """Each case id in a mark belongs to a case of its test."""
    wrong = []
    for module in modules():
        for name, test in inspect.getmembers(module, inspect.isfunction):
            ids = case_ids(test)
            marks = [m for m in getattr(test, "pytestmark", []) if m.name == "rows"]
            given = {
                case
                for mark in marks
                for each in mark.args
                if not isinstance(each, str)
                for case in each
            }
            wrong += [f"{name}: {case}" for case in given - ids]

    assert [] == wrong


def case_ids(test: object) -> set[str]:
    """The ids of a test's cases, as pytest makes them of its marks."""
    ids = {""}
    # The mark nearest to the function is the first part of an id.
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            values = list(mark.args[1])
            given = mark.kwargs.get("ids")
            names = list(
                map(given or str, values) if given is None or callable(given) else given
            )
            ids = {"-".join(filter(None, (i, n))) for i in ids for n in names}
    return ids


def test_every_observable_row_was_seen_to_agree(session):
    """In a full run each row has a case that agreed, or deviated as declared.

    Without the slow tests, rows that only they cover are left to the long run.
    """
    seen = {*session.agreed, *session.deviations, *session.later}
    status = statuses()

    assert [] == [
        row for row in status if status[row] == OBSERVABLE and row not in seen
    ]


def test_every_deviation_is_documented(session):
    """Each gives a reason in the very words of docs/deviations.md."""
    text = DEVIATIONS.read_text()
    reasons = {each.reason for many in session.deviations.values() for each in many}

    assert set() == {reason for reason in reasons if reason not in text}


@pytest.mark.triton_server
def test_rows_were_compared_with_the_running_server(session, triton):
    """Where it can run, its recorded answers stand in for few rows or none."""
    if triton is None:
        pytest.skip("no real Triton server here")
    status = statuses()
    later = session.later
    wanted = [row for row in status if status[row] == OBSERVABLE and row not in later]
    live = [row for row in wanted if row in session.live]

    assert len(live) >= LIVE_SHARE * len(wanted)


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.glob("*.json")))
def test_every_text_of_a_case_runs(name):
    """Two servers also agree on a text that is no Python: such a case shows nothing."""
    answers = json.loads((GOLDEN / name).read_text())["answers"].items()

    wrong = ("(<case>, line", "<lambda>() takes")
    assert [] == [
        key for key, answer in answers if any(text in str(answer) for text in wrong)
    ]
