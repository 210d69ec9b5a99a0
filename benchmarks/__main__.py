"""Run the benchmarks: ``python -m benchmarks [--only NAME]``."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
from pathlib import Path

from benchmarks import table
from benchmarks.machine import facts
from benchmarks.row import Row
from benchmarks.sides import Sides

RESULTS = Path("build", "bench.json")
NAMES = (
    "exec_latency",
    "large_tensors",
    "many_calls",
    "parallel",
    "batching",
    "loading",
    "imports",
    "documents",
    "drawing",
    "memory",
)


def main() -> None:
    """Run what was asked for, print it, and keep it beside the machine's facts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", choices=NAMES, default="", metavar="NAME", help=", ".join(NAMES)
    )
    only = parser.parse_args().only
    with contextlib.closing(Sides()) as sides:
        if sides.env is None:
            print("No real Triton server here: blsnb is measured alone.")
        rows = {name: measured(name, sides) for name in NAMES if only in ("", name)}
        machine = facts(sides)
    kept = {name: [row.plain() for row in found] for name, found in rows.items()}
    RESULTS.parent.mkdir(exist_ok=True)
    result = json.dumps({"machine": machine} | kept, indent=1, ensure_ascii=False)
    RESULTS.write_text(f"{result}\n", encoding="utf-8")
    print("\n".join(table.lines([row for found in rows.values() for row in found])))
    print(f"\nWrote {RESULTS}.")


def measured(name: str, sides: Sides) -> list[Row]:
    """Run one benchmark."""
    print(f"{name} …", flush=True)
    return importlib.import_module(f"benchmarks.{name}").run(sides)


if __name__ == "__main__":
    main()
