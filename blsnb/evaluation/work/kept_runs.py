"""KeptRuns: which runs a worker sends whole."""

from __future__ import annotations

import heapq
import tempfile
from collections import Counter
from pathlib import Path

from blsnb.evaluation.plain import RowResult
from blsnb.run import Run


class KeptRuns:
    """Keeps the runs of the slowest rows, and of the first rows of each failure.

    The owner keeps fewer: it knows the results of all workers.

    Parameters
    ----------
    count
        Number of runs kept for each reason.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._slowest: list[float] = []
        self._failures: Counter[str] = Counter()

    def choose(self, result: RowResult, *, whole: bool = False) -> None:
        """Replace the run of a result by the content of a file, or by None.

        Parameters
        ----------
        whole
            Whether the run is kept in any case.
        """
        run, result.run = result.run, None
        if isinstance(run, Run) and (self._is_notable(result) or whole):
            result.run = run_bytes(run)

    def _is_notable(self, result: RowResult) -> bool:
        if self._count == 0:
            return False
        if result.error:
            self._failures[result.error] += 1
            return self._failures[result.error] <= self._count
        if len(self._slowest) < self._count:
            heapq.heappush(self._slowest, result.latency_us)
            return True
        return heapq.heappushpop(self._slowest, result.latency_us) < result.latency_us


def run_bytes(run: Run) -> bytes:
    """Return the content of a run's ``.blsrun`` file."""
    with tempfile.TemporaryDirectory(prefix="blsnb-run-") as folder:
        return run.save(Path(folder) / "run.blsrun").read_bytes()
