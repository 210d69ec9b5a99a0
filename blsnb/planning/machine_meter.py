"""How much other processes disturb a measurement, and measuring it again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

Found = TypeVar("Found")
PROC = Path("/proc")
MAX_OTHERS = 0.1
"""Maximum share of the processors that other processes may use."""
ATTEMPTS = 3
_BUSY = (
    "The machine was busy with other work: other processes used {:.0%} of the "
    "processors. The models' waits for a processor count as their own work, so that "
    "they look slower than they are. Observe the models again when it is idle."
)


def machine_ns(proc: Path = PROC) -> tuple[int, int]:
    """Return the busy time of the processors that this process may use, and all."""
    usable = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    rows = [line.split() for line in text_of(proc / "stat").splitlines()]
    ticks = [list(map(int, row[1:9])) for row in rows if row and row[0] in usable]
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    idle = sum(sum(row[3:5]) for row in ticks)
    total = sum(map(sum, ticks))
    return (total - idle) * tick_ns, total * tick_ns


def text_of(path: Path) -> str:
    """Return a file's text; empty if its process has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""


def busy_remarks(others: float) -> tuple[str, ...]:
    """Return what makes the observed times uncertain, as sentences.

    Parameters
    ----------
    others
        Share of the processors that other processes used.
    """
    return (_BUSY.format(others),) if others > MAX_OTHERS else ()


class MachineMeter:
    """Measures the share of the processors that other processes may use."""

    others = 0.0
    """The share, from 0 to 1; 0 before the end, and where it is not known."""

    def __enter__(self) -> Self:
        self._before = machine_ns(), time.process_time_ns()
        return self

    def __exit__(self, *_: object) -> None:
        (busy_ns, all_ns), own_ns = self._before
        busy_after_ns, all_after_ns = machine_ns()
        own_ns = time.process_time_ns() - own_ns
        others_ns = max(0, busy_after_ns - busy_ns - own_ns)
        self.others = others_ns / max(1, all_after_ns - all_ns)


def least_disturbed(
    measure: Callable[[], Found], others: Callable[[Found], float]
) -> tuple[Found, int]:
    """Return the measurement that was disturbed least, and how many were made.

    Parameters
    ----------
    measure
        Measures once. It is called again while others used too much of the processors,
        twice at most.
    others
        Returns the share of the processors that they used during a measurement.
    """
    found: list[Found] = []
    while len(found) < ATTEMPTS and (not found or others(found[-1]) > MAX_OTHERS):
        found.append(measure())
    return min(found, key=others), len(found)
