"""Results of benchmarks, written to a file together with facts on the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.row import Row

FILE = Path("build", "bench.json")


class Results:
    """The rows of all benchmarks so far, written after each benchmark."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._benchmarks: dict[str, Any] = {}

    def add(self, benchmark: str, rows: list[Row], machine: dict[str, Any]) -> None:
        """Add the rows of a benchmark, and facts on the machine after it."""
        self.rows += rows
        self._benchmarks[benchmark] = [row.plain() for row in rows]
        result = {"machine": machine} | self._benchmarks
        FILE.parent.mkdir(exist_ok=True)
        text = json.dumps(result, indent=1, ensure_ascii=False)
        FILE.write_text(f"{text}\n", encoding="utf-8")
