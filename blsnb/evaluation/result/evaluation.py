"""What a model did with the rows of a data set."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from blsnb.arguments import check_type, check_whole
from blsnb.evaluation.result.columns import Floats
from blsnb.evaluation.result.comparison import EvaluationComparison
from blsnb.evaluation.result.metrics import MetricColumn
from blsnb.printable import counted, listed, printable
from blsnb.results.loaded_run import load_run
from blsnb.results.run import Run
from blsnb.views.format import time

_QUANTILES = (50, 90, 99)
_MAX_NAMED = 10


class Latencies(NamedTuple):
    """Quantiles of times in microseconds; NaN without rows."""

    p50_us: float
    p90_us: float
    p99_us: float
    max_us: float


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The results of `blsnb.Server.evaluate`, in the order of the data set.

    Parameters
    ----------
    model_name
        The evaluated model.
    numbers
        Numbers of the completed rows: their positions in the data set, from 0.
    latency_us, queue_us
        Latency of each row, and its time in queues, in microseconds.
    model_us
        Time of each model's own code for each row, by name; NaN where it was not
        called. Of stacked rows the first one has the times of their request.
    calls
        Number of calls of each model.
    errors
        Code and text of the failed rows by number.
    metrics
        Values of the metrics by name.
    outputs
        Kept outputs by name, an item for each row; None where the row failed.
    rest
        Values of the rows that are no inputs, such as labels: numbers and short texts.
    left_out
        Names of outputs that were too large to keep without being named in
        ``outputs=``.
    runs
        Whole runs of some rows by number.
    slowest
        Numbers of the slowest rows with a kept run, the slowest first.
    worst
        The same of each metric's worst rows.
    failures
        The first failed rows by error text.
    without_run
        Why a row of `worst` has no whole run, by number.
    duration_s
        Duration of the evaluation in seconds.
    interrupted
        Whether Ctrl-C ended it early.
    stored
        Number of rows that an earlier evaluation had executed, with ``resume=``.
    earlier
        The evaluation of the other model, if ``against=`` named one.
    """

    model_name: str
    numbers: np.ndarray[Any, np.dtype[np.int64]]
    latency_us: Floats
    queue_us: Floats
    model_us: Mapping[str, Floats]
    calls: Mapping[str, int]
    errors: Mapping[int, tuple[str, str]]
    metrics: Mapping[str, MetricColumn]
    outputs: Mapping[str, Sequence[Any]]
    rest: Mapping[str, Sequence[Any]]
    left_out: tuple[str, ...]
    runs: Mapping[int, Any]
    slowest: Sequence[int]
    worst: Mapping[str, Sequence[int]]
    failures: Mapping[str, Sequence[int]]
    without_run: Mapping[int, str]
    duration_s: float
    interrupted: bool = False
    stored: int = 0
    earlier: Evaluation | None = None

    def __len__(self) -> int:
        """Return the number of completed rows."""
        return len(self.numbers)

    def __repr__(self) -> str:
        said = [counted(len(self), "row")]
        if self.errors:
            said.append(f"{len(self.errors):,} failed")
        said += [f"{each.name} {each.interval}" for each in self.metrics.values()]
        if len(self):
            said.append(f"p50 {time(self.latency.p50_us)}")
        if self.interrupted:
            said.append("interrupted")
        return printable(f"<Evaluation {self.model_name}: {', '.join(said)}>")

    @cached_property
    def latency(self) -> Latencies:
        """Exact quantiles of the latencies of successful rows."""
        failed = np.isin(self.numbers, list(self.errors))
        values = self.latency_us[~failed]
        if not len(values):
            return Latencies(*[math.nan] * 4)
        found = np.percentile(values, (*_QUANTILES, 100), method="inverted_cdf")
        return Latencies(*map(float, found))

    @cached_property
    def error_counts(self) -> dict[tuple[str, str], int]:
        """Number of failed rows by code and text, the most frequent first."""
        return dict(Counter(self.errors.values()).most_common())

    @cached_property
    def comparison(self) -> EvaluationComparison | None:
        """The comparison with `earlier`; None without it."""
        return None if self.earlier is None else self.compare(self.earlier)

    def run(self, row: int) -> Run:
        """Return the whole run of a row, with its trace.

        Runs are kept of the first failures of each text, of the slowest rows and of
        the worst rows of each metric.

        Parameters
        ----------
        row
            Number of the row.

        Raises
        ------
        KeyError
            The run of the row was not kept.
        """
        check_whole(row=row)
        if row in self.without_run:
            raise KeyError(f"row {row} has no whole run: {self.without_run[row]}")
        if row not in self.runs:
            kept = listed([*map(str, sorted(self.runs))], _MAX_NAMED) or "none"
            raise KeyError(
                f"the run of row {row} was not kept; kept are the runs of failed, "
                f"slowest and worst rows: {kept}"
            )
        return whole_run(self.runs[row])

    def compare(self, earlier: Evaluation) -> EvaluationComparison:
        """Compare with an earlier evaluation of the same data set, row by row.

        Parameters
        ----------
        earlier
            The earlier evaluation, such as that of the model before a change. Only
            rows that both have are compared, and only outputs that both keep.

        Returns
        -------
        EvaluationComparison
            Rows that fail now and did not before, rows that changed with the largest
            deviation first, and differences of metrics and latencies.

        Raises
        ------
        TypeError
            ``earlier`` is not an evaluation.
        ValueError
            The two have no row in common.
        """
        check_type("earlier", earlier, Evaluation, "an Evaluation")
        return EvaluationComparison(self, earlier)

    def to_pandas(self) -> Any:
        """Return a row for each row of the data set as a pandas DataFrame.

        Its index is the number of the row. Its columns are the values of the row that
        are no inputs, the kept outputs, the metrics, ``latency_ms``, ``queue_ms``, a
        time for each model such as ``detector_ms``, ``error_code`` and ``error``.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        __tracebackhide__ = True
        from blsnb.evaluation.result.tables import to_pandas

        return to_pandas(self.numbers, self._columns())

    def to_arrow(self) -> Any:
        """Return the columns of `to_pandas` as a ``pyarrow.Table``.

        The first column is ``row``. Outputs are lists with their values, flattened; an
        output with one element in each row is a column of these elements. Labels
        without a common type are text.

        Raises
        ------
        ImportError
            pyarrow is not installed.
        """
        __tracebackhide__ = True
        from blsnb.evaluation.result.tables import to_arrow

        return to_arrow(self.numbers, self._columns())

    def _columns(self) -> Iterator[tuple[str, str, Any]]:
        """Yield kind, name and values of each column of a table."""
        numbers = self.numbers.tolist()
        for name, values in self.rest.items():
            yield "row", name, list(values)
        for name, values in self.outputs.items():
            yield "output", name, list(values)
        for metric in self.metrics.values():
            yield "metric", metric.name, metric.values
            if metric.errors:
                texts = [metric.errors.get(number) for number in numbers]
                yield "metric", f"{metric.name}_error", texts
        yield "time", "latency_ms", self.latency_us / 1e3
        yield "time", "queue_ms", self.queue_us / 1e3
        for name, model_us in self.model_us.items():
            yield "time", f"{name}_ms", model_us / 1e3
        pairs = [self.errors.get(number, (None, None)) for number in numbers]
        yield "failure", "error_code", [code for code, _ in pairs]
        yield "failure", "error", [text for _, text in pairs]


def whole_run(kept: Any) -> Run:
    """Return a kept run, also if another process sent it as a file's content."""
    if not isinstance(kept, bytes):
        assert isinstance(kept, Run)
        return kept
    with tempfile.TemporaryDirectory(prefix="blsnb-run-") as folder:
        path = Path(folder) / "run.blsrun"
        path.write_bytes(kept)
        return load_run(path)
