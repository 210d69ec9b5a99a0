"""Check an evaluation in a test; its error lists the rows to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blsnb.evaluation.result.evaluation import Evaluation
    from blsnb.evaluation.verdict import Requirements


class EvaluationError(AssertionError):
    """An evaluation does not reach what a test requires.

    Parameters
    ----------
    message
        What it does not reach, the first failures, and the worst rows.
    evaluation
        The evaluation.
    """

    def __init__(self, message: str, evaluation: Evaluation) -> None:
        super().__init__(message)
        self.evaluation = evaluation


def check_evaluation(evaluation: Evaluation, requirements: Requirements) -> None:
    """Fail unless an evaluation meets its requirements.

    Raises
    ------
    EvaluationError
        It does not.
    """
    __tracebackhide__ = True
    from blsnb.evaluation.verdict import report

    shortfalls = requirements.shortfalls(evaluation)
    if shortfalls:
        raise EvaluationError(report(evaluation, shortfalls), evaluation)
