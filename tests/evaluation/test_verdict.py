"""Whether an evaluation is good enough, and what is said if it is not."""

from __future__ import annotations

import math

import pytest

from blsnb.evaluation.plain import Row, RowResult
from blsnb.evaluation.result.gathering import Gathering
from blsnb.evaluation.result.metrics import MetricFunction
from blsnb.evaluation.verdict import Requirements, report


def evaluated(*values, labels=None, higher_is_better=True, interrupted=False):
    """Return an evaluation of a metric; a text is a failure of its row.

    None is a value for which the metric fails.
    """

    def score(row, outputs):
        if outputs["Y"] is None:
            raise ValueError("no score")
        return outputs["Y"]

    gathering = Gathering("m", [MetricFunction("score", score, higher_is_better)])
    for number, value in enumerate(values):
        result = RowResult(number, {"Y": value})
        if isinstance(value, str):
            result = RowResult(number, error=value, code="INTERNAL")
        row = Row(
            number, {}, {name: each[number] for name, each in (labels or {}).items()}
        )
        gathering.add(row, result)
    return gathering.evaluation(duration_s=1.0, interrupted=interrupted)


@pytest.mark.parametrize(
    ("required", "values", "expected"),
    [
        ({"at_least": {"score": 2}}, (2.0, 2.0), []),
        ({"at_least": {"score": 2.1}}, (2.0, 2.0), ["score 2 [2, 2] is below 2.1"]),
        ({"at_most": {"score": 2}}, (2.0, 2.0), []),
        ({"at_most": {"score": 1.9}}, (2.0, 2.0), ["score 2 [2, 2] is above 1.9"]),
        ({"max_failed": 1}, (2.0, "no"), []),
        ({}, (2.0, "no"), ["1 row failed"]),
        ({"max_failed": 1}, ("no", "no"), ["2 rows failed, more than 1"]),
        ({}, (), ["no row was evaluated"]),
        (
            {},
            (1.0, None, None),
            ["metric score failed for 2 rows; row 1: ValueError: no score"],
        ),
        (
            {"at_least": {"score": 0}, "at_most": {"score": 9}, "max_failed": 9},
            ("no",),
            ["score has no value"],
        ),
    ],
)
def test_each_unmet_requirement_is_a_sentence(required, values, expected):
    """A limit that is reached exactly is met; what has no value meets none."""
    assert expected == Requirements(**required).shortfalls(evaluated(*values))


def test_an_interrupted_evaluation_is_not_good_enough():
    """Its other rows are not known."""
    found = evaluated(1.0, interrupted=True)

    assert ["the evaluation was interrupted"] == Requirements().shortfalls(found)


@pytest.mark.parametrize(
    ("required", "text"),
    [
        (
            {"at_least": {"scor": 1}},
            "there is no metric 'scor'. Did you mean 'score'? Its metrics are: score.",
        ),
        ({"at_most": {"x": 1}}, "there is no metric 'x'. Its metrics are: score."),
        (
            {"at_most": {"score": math.nan}},
            "the limit of 'score' is nan; expected a number",
        ),
        ({"max_failed": -1}, "max_failed=-1 is not valid; expected 0 or more"),
    ],
)
def test_a_limit_that_cannot_be_reached_is_refused(required, text):
    """Before the first row is executed."""
    with pytest.raises(ValueError, match=r".") as refused:
        Requirements(**required).check({"score": None})
    assert text == str(refused.value)
    with pytest.raises(ValueError, match=r"'score'\. Its metrics are: none\.$"):
        Requirements(at_least={"score": 1}).check({})


def test_a_report_lists_the_first_failures_and_the_worst_rows():
    """Each with six of its labels; the most frequent failure is the first."""
    values = ("rare", *["often\nwith a second line"] * 6, 0.5, 0.25, math.nan)
    names = "abcdefg"
    labels = {name: [f"{name}{number}" for number in range(10)] for name in names}
    labels["a"][8] = "x" * 41
    found = evaluated(*values, labels=labels)

    def said(number, first=None):
        words = ", ".join(
            f"{name}={first if first and name == 'a' else f'{name}{number}'}"
            for name in "abcdef"
        )
        return f"    row {number} ({words})"

    assert [
        "m: too bad; too slow",
        "  6 rows failed: [INTERNAL] often",
        *(said(number) for number in range(1, 6)),
        "  1 row failed: [INTERNAL] rare",
        said(0),
        "  worst rows of score",
        f"{said(8, 'x' * 20 + '…' + 'x' * 19)}: 0.25",
        f"{said(7)}: 0.5",
    ] == report(found, ["too bad", "too slow"]).splitlines()


def test_the_worst_rows_of_a_metric_may_be_its_highest():
    """Five are listed, and rows without labels have their number only."""
    found = evaluated(*map(float, range(7)), higher_is_better=False)

    assert [
        "m: ",
        "  worst rows of score",
        *(f"    row {number}: {number}" for number in (6, 5, 4, 3, 2)),
    ] == report(found, []).splitlines()
