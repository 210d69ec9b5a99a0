"""One level of load after the other: from what clients saw to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from blsnb.benchmark.closed_loop import MOST_CLIENTS, ClosedLoop
from blsnb.benchmark.samples import Counts, Row, row_of
from blsnb.views.format import counted

Progress = Callable[[float, str], None]
"""Told the share that is done, and what is being done."""


def levels_of(concurrency: Iterable[int]) -> tuple[int, ...]:
    """Return numbers of clients.

    Raises
    ------
    ValueError
        There is none, or one of them is no number of clients.
    """
    levels = tuple(concurrency)
    for clients in levels or (0,):
        if not isinstance(clients, int) or not 1 <= clients <= MOST_CLIENTS:
            raise ValueError(
                f"concurrency must be numbers of clients from 1 to {MOST_CLIENTS}, "
                f"not {clients if levels else levels!r}"
            )
    return levels


def measure(
    loop: ClosedLoop,
    levels: tuple[int, ...],
    counts: Callable[[], Counts],
    warm_up_requests: int,
    progress: Progress | None = None,
) -> tuple[tuple[Row, ...], bool]:
    """Run the levels; return a row for each, and whether Ctrl-C ended them.

    Parameters
    ----------
    counts
        Returns what the server has counted of the model.
    """
    tell = progress or _tell_nobody
    rows: list[Row] = []
    warm_up = partial(_tick, lambda _, words: tell(0.0, words), 0, 1, "warm-up")
    interrupted = loop.run(1, warm_up, warm_up_requests).interrupted
    for number, clients in enumerate(levels):
        if interrupted:
            break
        before = counts()
        tick = partial(_tick, tell, number, len(levels), counted(clients, "client"))
        level = loop.run(clients, tick)
        interrupted = level.interrupted
        since = counts().since(before)
        row = row_of(
            clients,
            level.samples,
            since,
            stream=loop.stream,
            unfinished=level.unfinished,
        )
        rows.append(row)
    tell(1.0, "interrupted" if interrupted else "done")
    return tuple(rows), interrupted


def _tick(tell: Progress, number: int, levels: int, words: str, share: float) -> None:
    """Tell of the share of one level as of one of all."""
    tell((number + min(1.0, share)) / levels, words)


def _tell_nobody(share: float, words: str) -> None:
    """Take what nobody wants to know."""
