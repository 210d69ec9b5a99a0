"""Evaluations that are killed at a line of blsnb, each in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from faults import killed, lines_of

from blsnb.evaluation.journal import Journal
from blsnb.evaluation.plain import Row, RowResult

ROOMS = ("evaluation/journal.py", "evaluation/stored_results.py", "trace/files/v2")
HEADER = {"model": "m", "options": {}, "models": {}, "rows": "", "triton_release": ""}
ROWS = [Row(number, {"X": np.full(2, number)}) for number in range(6)]


def evaluate(path: Path) -> list[int]:
    """Store results of the rows that have none; return the numbers of these rows."""
    executed = []
    with Journal(path, HEADER) as journal:
        for row in journal.to_execute(ROWS, lambda row, result: None):
            executed.append(row.number)
            journal.append([RowResult(row.number, {"Y": row.inputs["X"] * 2})])
    return executed


def stored(path: Path) -> dict[int, list[int]]:
    """Return the stored outputs by row."""
    with Journal(path, HEADER) as journal:
        return {n: each.outputs["Y"].tolist() for n, each in journal.done.items()}


def main(path: Path, step: int) -> None:
    """Kill evaluations at every `step`-th line; check the file, and continue."""
    lines = lines_of(lambda: evaluate(path), ROOMS)
    whole = stored(path)
    for number in range(1, lines + 1, step):
        path.unlink(missing_ok=True)
        print(number, killed(lambda: evaluate(path), ROOMS, number), flush=True)
        before = stored(path)
        assert before.items() <= whole.items()
        assert list(range(len(before), len(ROWS))) == evaluate(path)
        assert whole == stored(path)
    print(f"of {lines} lines")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
