"""``assert_evaluates``: metrics of a model on a data set, required by a test."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, cell

from blsnb.testing import EvaluationError
from blsnb.testing.tested_server import TestedServer

pytest_plugins = ["pytester"]
FAILING = cell("raise ValueError(f'no {x_of(request)[0]:g}')")


def rows(*labels):
    """Return rows whose right answer is twice their number, with labels."""
    return [{"X": [n], "label": label} for n, label in enumerate(labels)]


def right(row, outputs):
    """Return whether the label is the answer."""
    return float(outputs["Y"][0] == row["label"])


@pytest.fixture
def server():
    """A server for tests with two models."""
    with TestedServer() as server:
        server.define("double", DOUBLE, config=CONFIG)
        server.define("failing", FAILING, config=CONFIG)
        yield server


def test_an_evaluation_that_meets_its_limits_is_returned(server):
    """A test may look at more of it."""
    evaluation = server.assert_evaluates(
        "double", rows(0, 2, 5), {"right": right}, at_least={"right": 0.66}
    )

    assert [1, 1, 0] == evaluation.metrics["right"].values.tolist()


def test_a_failure_lists_the_worst_rows(server):
    """Each with its labels, the worst first."""
    with pytest.raises(EvaluationError) as caught:
        server.assert_evaluates(
            "double", rows(0, 3, 4), {"right": right}, at_least={"right": 0.9}
        )

    lines = str(caught.value).splitlines()
    assert re.fullmatch(r"double: right 0\.6667 \[.*\] is below 0\.9", lines[0])
    assert ["  worst rows of right", "    row 1 (label=3): 0"] == lines[1:3]
    assert 3 == len(caught.value.evaluation)


def test_a_failure_lists_the_first_failed_rows(server):
    """They are grouped by their texts, with Triton's code."""
    with pytest.raises(EvaluationError) as caught:
        server.assert_evaluates("failing", [*rows(1), {"X": [0]}, {"X": [7]}])

    text = str(caught.value)
    assert text.startswith("failing: 3 rows failed\n  2 rows failed: [INTERNAL] ")
    assert "\n    row 0 (label=1)\n    row 1" in text
    assert "\n  1 row failed: [INTERNAL] " in text


def test_low_values_may_be_the_good_ones(server):
    """Then the worst rows are those with high values."""

    def error(row, outputs):
        return abs(outputs["Y"][0] - row["label"])

    with pytest.raises(EvaluationError, match=r"error .* is above 0\.5") as caught:
        server.assert_evaluates(
            "double", rows(0, 2, 9), {"error": error}, at_most={"error": 0.5}
        )
    assert "worst rows of error\n    row 2 (label=9): 5" in str(caught.value)


def test_no_rows_are_a_failure(server):
    """An empty data set proves nothing."""
    with pytest.raises(EvaluationError, match="double: no row was evaluated"):
        server.assert_evaluates("double", [])


def test_rows_may_fail_up_to_a_number(server):
    """Some data sets have broken rows."""
    evaluation = server.assert_evaluates("failing", rows(1, 2), max_failed=2)

    assert {0, 1} == set(evaluation.errors)


def test_a_limit_of_an_unknown_metric_is_refused(server):
    """It would never be checked."""
    with pytest.raises(ValueError, match=r"no metric 'rights'\. Did you mean 'right'"):
        server.assert_evaluates(
            "double", rows(0), {"right": right}, at_least={"rights": 1}
        )


def test_a_file_of_rows_lies_beside_the_test(server, tmp_path):
    """As recorded runs do."""
    np.savez(tmp_path / "rows.npz", X=np.ones((2, 1), np.float32), label=[2, 2])
    server.begin_test(tmp_path)

    evaluation = server.assert_evaluates("double", "rows.npz", {"right": right})

    assert 2 == len(evaluation)


def test_the_fixture_fails_a_test_with_its_rows(run_tests, models):
    """The traceback ends in the test."""
    result = run_tests(
        """
        def test_it(assert_evaluates):
            rows = [{"X": [1.0], "label": 3}]
            metrics = {"right": lambda row, outputs: outputs["Y"][0] == row["label"]}
            assert_evaluates("inner", rows, metrics, at_least={"right": 1})
        """,
        "--triton-repository=models",
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*assert_evaluates(*at_least=*",
            "E*EvaluationError: inner: right 0 *is below 1",
            "E*row 0 (label=3): 0",
        ]
    )
    assert "tested_server.py" not in result.stdout.str()
