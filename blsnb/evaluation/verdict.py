"""Whether an evaluation is good enough: its shortfalls, as sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from blsnb.arguments import check_whole, names_advice
from blsnb.evaluation.result.evaluation import Evaluation
from blsnb.evaluation.result.metrics import MetricColumn
from blsnb.printable import counted
from blsnb.views.format import cut

_MAX_ROWS = 5
"""Maximum number of rows listed for each reason."""
_MAX_TEXT = 200
_MAX_KEYS = 6


@dataclass(frozen=True, slots=True)
class Requirements:
    """What an evaluation has to reach.

    Parameters
    ----------
    at_least, at_most
        Limits of the means of metrics, by name.
    max_failed
        Maximum number of failed rows.
    """

    at_least: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)
    max_failed: int = 0

    def check(self, metrics: Mapping[str, object]) -> None:
        """Refuse limits that are invalid, or of metrics that do not exist.

        Raises
        ------
        ValueError
            There is no such metric, or a limit can never be reached.
        """
        check_whole(max_failed=self.max_failed)
        for name, limit in (*self.at_least.items(), *self.at_most.items()):
            if name not in metrics:
                advice = names_advice(name, "metrics", [*metrics] or ["none"])
                raise ValueError(f"there is no metric {name!r}. {advice}")
            if math.isnan(limit):
                raise ValueError(f"the limit of {name!r} is nan; expected a number")

    def shortfalls(self, evaluation: Evaluation) -> list[str]:
        """Return a sentence for each requirement that is not met."""
        return [*self._failures(evaluation), *self._limits(evaluation)]

    def _failures(self, evaluation: Evaluation) -> Iterator[str]:
        if not len(evaluation):
            yield "no row was evaluated"
        if evaluation.interrupted:
            yield "the evaluation was interrupted"
        failed = len(evaluation.errors)
        if failed > self.max_failed:
            allowed = f", more than {self.max_failed:,.0f}" if self.max_failed else ""
            yield f"{counted(failed, 'row')} failed{allowed}"
        for metric in evaluation.metrics.values():
            if metric.errors:
                number, text = next(iter(metric.errors.items()))
                rows = counted(len(metric.errors), "row")
                yield f"metric {metric.name} failed for {rows}; row {number}: {text}"

    def _limits(self, evaluation: Evaluation) -> Iterator[str]:
        for name in {**self.at_least, **self.at_most}:
            interval = evaluation.metrics[name].interval
            if math.isnan(interval.mean):
                yield f"{name} has no value"
            if interval.mean < self.at_least.get(name, -math.inf):
                yield f"{name} {interval} is below {self.at_least[name]:g}"
            if interval.mean > self.at_most.get(name, math.inf):
                yield f"{name} {interval} is above {self.at_most[name]:g}"


def report(evaluation: Evaluation, shortfalls: list[str]) -> str:
    """Return shortfalls, the first failures of each text, and the worst rows."""
    lines = [f"{evaluation.model_name}: {'; '.join(shortfalls)}"]
    for (code, text), rows in failures(evaluation).items():
        first = "".join(cut(text, _MAX_TEXT).splitlines()[:1])
        lines.append(f"  {counted(len(rows), 'row')} failed: [{code}] {first}")
        lines += [f"    {_row(evaluation, row)}" for row in rows[:_MAX_ROWS]]
    for metric in evaluation.metrics.values():
        worst = worst_rows(metric, evaluation)[:_MAX_ROWS]
        if worst:
            lines.append(f"  worst rows of {metric.name}")
        lines += [f"    {_row(evaluation, row)}: {value:.4g}" for row, value in worst]
    return "\n".join(lines)


def failures(evaluation: Evaluation) -> dict[tuple[str, str], list[int]]:
    """Return the failed rows by code and text, the most frequent first."""
    found: dict[tuple[str, str], list[int]] = {}
    for number, kind in sorted(evaluation.errors.items()):
        found.setdefault(kind, []).append(number)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))


def worst_rows(metric: MetricColumn, evaluation: Evaluation) -> list[tuple[int, float]]:
    """Return the numbers and values of rows, the worst first; without NaN."""
    pairs = zip(evaluation.numbers.tolist(), metric.values.tolist(), strict=True)
    found = [(row, value) for row, value in pairs if not math.isnan(value)]
    return sorted(found, key=lambda each: each[1] * (metric.higher_is_better or -1))


def _row(evaluation: Evaluation, number: int) -> str:
    """Return a row's number with its labels."""
    place = evaluation.numbers.tolist().index(number)
    labels = [
        f"{name}={cut(str(values[place]), 40)}"
        for name, values in list(evaluation.rest.items())[:_MAX_KEYS]
    ]
    said = f" ({', '.join(labels)})" if labels else ""
    return f"row {number}{said}"
