"""The list of the specification's rows: every observable one is covered by a test."""

from __future__ import annotations

import inspect
import json

import pytest
from asserting import some

from .covering import NOT_YET, OBSERVABLE, covered, modules, statuses
from .reference import GOLDEN


def test_every_row_has_a_status():
    """It is observable, or has a reason why it is not, or is not covered yet."""
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
    assert [] == [row for row in some(named) if row not in status]


def test_what_is_not_observable_is_not_covered():
    """A row that a test covers is observable."""
    status = statuses()

    assert [] == [row for row in some(covered()) if status[row] != OBSERVABLE]


def test_marks_name_cases_that_exist():
    """Each case id in a mark belongs to a case of its test."""
    wrong = []
    for module in some(modules()):
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


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.glob("*.json")))
def test_every_text_of_a_case_runs(name):
    """Two servers also agree on a text that is no Python: such a case shows nothing."""
    answers = json.loads((GOLDEN / name).read_text())["answers"].items()

    wrong = ("(<case>, line", "<lambda>() takes")
    assert [] == [
        key
        for key, answer in some(answers)
        if any(text in str(answer) for text in wrong)
    ]
