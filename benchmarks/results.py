"""Results: all rows so far, kept in a file with what they must be read with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.row import Row

FILE = Path("build", "bench.json")


class Results:
    """The rows of the benchmarks that have run; each is written as soon as it has."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._kept: dict[str, Any] = {}

    def add(self, benchmark: str, rows: list[Row], machine: dict[str, Any]) -> None:
        """Take the rows of a benchmark, and the facts of the machine after it."""
        self.rows += rows
        self._kept[benchmark] = [row.plain() for row in rows]
        result = {"machine": machine} | self._kept
        FILE.parent.mkdir(exist_ok=True)
        text = json.dumps(result, indent=1, ensure_ascii=False)
        FILE.write_text(f"{text}\n", encoding="utf-8")
