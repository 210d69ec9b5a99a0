"""Judge plans beside a real server: ``python -m benchmarks.planning``.

``CASES=name,name`` chooses cases. Results are added to ``build/planning.json``; a case
that is there is not run again, unless it is named.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.planning.case import NEEDED
from benchmarks.planning.cases import CASES
from benchmarks.planning.result import Result, result_of
from benchmarks.planning.run import run_case
from blsnb.errors import BlsnbError, TritonServerError

FILE = Path("build", "planning.json")
ATTEMPTS = 2
"""Runs of a case whose server ends: release 2.51 may end after any request."""


def main() -> int:
    """Run the chosen cases; return 0 if enough of them are right."""
    chosen = [name for name in os.environ.get("CASES", "").split(",") if name]
    unknown = set(chosen) - {case.name for case in CASES}
    if unknown:
        known = ", ".join(case.name for case in CASES)
        print(f"unknown cases: {', '.join(sorted(unknown))}; expected: {known}")
        return 2
    found = _read()
    for case in CASES:
        if case.name in chosen or (not chosen and case.name not in found):
            result = _run(case.name)
            if result is not None:
                found[case.name] = result
                _write(found.values())
    return _summary([found[case.name] for case in CASES if case.name in found])


def _run(name: str) -> Result | None:
    case = next(case for case in CASES if case.name == name)
    for _ in range(ATTEMPTS):
        try:
            result = run_case(case, lambda words: print(f"{name}: {words}", flush=True))
        except TritonServerError as error:
            print(f"{name}: not measured: {error}", flush=True)
        except BlsnbError as error:
            print(f"{name}: not planned: {error}", flush=True)
            return None
        else:
            print(result.calibration, *result.lines(), sep="\n", flush=True)
            return result
    return None


def _summary(results: Sequence[Result]) -> int:
    print()
    for result in results:
        print(*result.lines(), sep="\n")
    before, right = (
        sum(result.is_right(known) for result in results) for known in (False, True)
    )
    print(
        f"\nOf {len(CASES)} cases {right} are right with each measured speed, "
        f"{before} as predicted before; needed are {NEEDED}."
    )
    return 0 if right >= NEEDED else 1


def _read() -> dict[str, Result]:
    if not FILE.exists():
        return {}
    found = [result_of(each) for each in json.loads(FILE.read_text())]
    return {each.name: each for each in found}


def _write(results: Iterable[Result]) -> None:
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps([each.plain() for each in results], indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
