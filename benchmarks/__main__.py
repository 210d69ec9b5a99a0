"""Run the benchmarks: ``python -m benchmarks [--only NAME]``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import exec_latency
from benchmarks.machine import facts

RESULTS = Path("build", "bench.json")
BENCHMARKS: dict[str, Callable[[], dict[str, Any]]] = {
    "exec_latency": exec_latency.run,
}


def main() -> None:
    """Run what was asked for, print it, and keep it beside the machine's facts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", choices=BENCHMARKS, metavar="NAME", help="one of them"
    )
    only = parser.parse_args().only
    results = {"machine": facts()}
    for name, run in BENCHMARKS.items():
        if only in (None, name):
            results[name] = run()
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"\nWrote {RESULTS}.")


if __name__ == "__main__":
    main()
