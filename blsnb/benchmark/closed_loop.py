"""Clients that send a request after each response."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future, wait

from blsnb.benchmark.client import Sender
from blsnb.benchmark.level import Level, Load, raise_errors
from blsnb.engine.threads.workers import Workers

Tick = Callable[[float], None]
"""Receives the elapsed share of a level's time, ten times a second."""
_TICK_S = 0.1


def run_closed(
    client: Sender,
    load: Load,
    workers: Workers,
    concurrency: int,
    requests: int,
    tick: Tick,
) -> Level:
    """Run one level. Ctrl-C ends it with the measurements so far.

    Parameters
    ----------
    workers
        Threads of the clients.
    concurrency
        Number of clients.
    requests
        Maximum number of requests of all clients together.

    Raises
    ------
    BlsnbError
        No request could be made: an input has a wrong type, the server was closed, or
        no thread is left for a client.
    """
    level, numbers = Level(load.duration_s), itertools.count(1)

    def run_client(number: int) -> None:
        while level.elapsed_s < load.duration_s and not level.stopped.is_set():
            if next(numbers) > requests:
                return
            client.send(level, number)

    futures: list[Future[None]] = []
    try:
        for number in range(concurrency):
            futures.append(workers.submit(run_client, number))
        _wait(level, futures, tick)
    except KeyboardInterrupt:
        level.interrupted = True
    finally:
        level.end(futures)
    raise_errors(futures)
    return level


def _wait(level: Level, futures: list[Future[None]], tick: Tick) -> None:
    waiting: set[Future[None]] = set(futures)
    while waiting and level.elapsed_s < level.drain_until_s:
        done, waiting = wait(waiting, timeout=_TICK_S)
        tick(level.elapsed_s / level.duration_s)
        if any(future.exception() for future in done):
            return
