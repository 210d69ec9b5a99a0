"""Sample single edits of the sources, and list those that no test notices.

``PYTHONPATH=tests python -m mutants --seed 1 --python 100 --typescript 20`` works on a
copy of the checkout. For each edit it runs the tests of the edited file, then all
others that execute the edited function, until one fails, and last the type check. Which
these are is recorded once, or again with ``--record``, in a run of all tests that need
no browser. With ``--log FILE`` a later call continues where an earlier one ended. A
missed edit may also be equivalent to the original.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from . import executed, executed_view
from .log import Log
from .sampling import Mutant, sample
from .scratch import Scratch
from .selection import stages


def main() -> int:
    """Print each edit and the tests that notice it, and the total."""
    options = argparse.ArgumentParser(prog="mutants", description=__doc__)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--python", type=int, default=0, metavar="N")
    options.add_argument("--typescript", type=int, default=0, metavar="N")
    options.add_argument("--list", action="store_true", help="only list the sample")
    options.add_argument("--log", type=Path, help="continue what this file has")
    options.add_argument(
        "--near", action="store_true", help="start no browser and no real server"
    )
    options.add_argument(
        "--record", action="store_true", help="record again what each test executes"
    )
    given = options.parse_args()
    samples = {
        "blsnb": sample("blsnb", "py", given.python, given.seed),
        "js/src": sample("js/src", "ts", given.typescript, given.seed),
    }
    if given.list:
        print(*(each for mutants in samples.values() for each in mutants), sep="\n")
        return 0
    for count, file, record in (
        (given.python, executed.FILE, executed.record),
        (given.typescript, executed_view.FILE, executed_view.record_view),
    ):
        if count and (given.record or not file.exists()):
            with tempfile.TemporaryDirectory(prefix="executed-") as folder:
                record(Scratch(Path(folder)).folder)
    log = Log(given.log)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        scratch = Scratch(Path(folder))
        for name, mutants in samples.items():
            for mutant in mutants:
                began = time.monotonic()
                judge(mutant, scratch, log, near=given.near)
                took = time.monotonic() - began
                by = log.noticed(mutant) or "MISSED"
                print(f"{took:5.0f} s  {mutant}  {by}", flush=True)
            if mutants:
                noticed = sum(map(bool, map(log.noticed, mutants)))
                print(f"{name}: {noticed} of {len(mutants)} were noticed")
    return 0


def judge(mutant: Mutant, scratch: Scratch, log: Log, *, near: bool) -> None:
    """Run the tests that the log lacks, until one notices the edit."""
    chosen = (each for each in stages(mutant) if each.near or not near)
    for stage in log.remaining(mutant, chosen):
        noticed = scratch.noticed(mutant, stage)
        log.add(mutant, stage, noticed)
        if noticed:
            return


if __name__ == "__main__":
    raise SystemExit(main())
