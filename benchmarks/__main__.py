"""Run the benchmarks: ``python -m benchmarks [--only NAME]``."""

from __future__ import annotations

import argparse
import contextlib
import importlib

from benchmarks import table
from benchmarks.machine import facts
from benchmarks.results import FILE, Results
from benchmarks.servers import Servers

NAMES = (
    "whole_call",
    "exec_latency",
    "large_tensors",
    "many_calls",
    "parallel",
    "batching",
    "loading",
    "imports",
    "documents",
    "view",
    "large_runs",
    "memory",
    "device",
    "recorder",
    "profiling",
    "evaluation",
    "evaluation_workers",
    "simulation",
    "open_loop",
    "end_points",
)


def main() -> None:
    """Run the chosen benchmarks, print the table and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", choices=NAMES, default="", metavar="NAME", help=", ".join(NAMES)
    )
    only = parser.parse_args().only
    results = Results()
    with contextlib.closing(Servers()) as servers:
        if servers.env is None:
            print("No real Triton server is installed: only blsnb is measured.")
        for name in NAMES:
            if only in ("", name):
                print(f"{name} …", flush=True)
                benchmark = importlib.import_module(f"benchmarks.{name}")
                results.add(name, benchmark.run(servers), facts(servers))
    print("\n".join(table.lines(results.rows)))
    print(f"\nWrote {FILE}.")


if __name__ == "__main__":
    main()
