"""Machine instructions of two trees of blsnb, counted by Valgrind.

``python -m benchmarks.two_trees TREE`` compares this tree with another checkout. Counts
do not depend on what else the machine does. They vary by threads and by addresses: the
range of the ratios is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.repeated import REPEATED
from benchmarks.repository import Repository

HERE = Path(__file__).parents[1]
CHILD = Path(__file__).with_name("repeated.py")
VALGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no"]
"""Counts instructions, and simulates nothing."""
TOTAL = re.compile(r"I\s+refs:\s+([\d,]+)")


def counted(tree: Path, name: str, repetitions: int, folder: Path) -> int:
    """Return the instructions of a process that repeats something."""
    child = [sys.executable, "-P", str(CHILD), name, str(repetitions), str(folder)]
    # An empty text is none: Python writes bytecode.
    setting = {"PYTHONPATH": str(tree), "PYTHONHASHSEED": "0"}
    env = os.environ | setting | {"PYTHONDONTWRITEBYTECODE": ""}
    # The first process compiles what the second one only reads.
    subprocess.run(child, env=env, capture_output=True)
    ran = subprocess.run(
        [*VALGRIND, "--cachegrind-out-file=/dev/null", *child],
        env=env,
        capture_output=True,
        text=True,
    )
    found = TOTAL.search(ran.stderr)
    if ran.returncode or found is None:
        raise RuntimeError(f"{name} in {tree}:\n{ran.stderr[-3000:]}")
    return int(found[1].replace(",", ""))


def each(tree: Path, name: str, folder: Path) -> float:
    """Return the instructions of one repetition, without those of the start."""
    few, many, _ = REPEATED[name]
    of_many = counted(tree, name, many, folder)
    return (of_many - counted(tree, name, few, folder)) / (many - few)


def line(name: str, here: list[float], there: list[float]) -> str:
    """Return a row: the median of each tree, and the ratios of the rounds."""
    ratios = sorted(one / two for one, two in itertools.product(here, there))
    middle = ratios[len(ratios) // 2]
    return (
        f"| {name} | {_thousands(there)} | {_thousands(here)} "
        f"| {middle:.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f}) |"
    )


def _thousands(found: list[float]) -> str:
    return f"{sorted(found)[len(found) // 2] / 1000:,.0f}"


def main() -> None:
    """Count each action in both trees; print a row for each."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.two_trees", description=__doc__
    )
    parser.add_argument("tree", type=Path, help="a checkout to compare this one with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="a part of the names")
    given = parser.parse_args()
    trees = {"here": HERE, "there": given.tree.resolve()}
    print("| | its thousand instructions | this tree's | this / it |")
    print("|---|---|---|---|")
    with contextlib.closing(Repository()) as repository, ThreadPoolExecutor(2) as pool:
        for name in filter(lambda name: given.only in name, REPEATED):
            jobs = {
                key: [
                    pool.submit(each, tree, name, repository.folder)
                    for _ in range(given.rounds)
                ]
                for key, tree in trees.items()
            }
            here, there = ([job.result() for job in jobs[key]] for key in trees)
            print(line(name, here, there), flush=True)


if __name__ == "__main__":
    main()
