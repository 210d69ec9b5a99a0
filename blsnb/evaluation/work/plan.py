"""Which worker executes which chunk: a pure decider that receives the time."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple

from blsnb.evaluation.plain import Chunk, Row
from blsnb.evaluation.work.chunks import whole_sequences

MAX_IN_FLIGHT = 2
"""Maximum number of chunks per worker: one that is executed, and the next."""
MAX_DEATHS = 2
"""Number of workers that a row may end before it fails."""
GRACE_S = 2.0
"""Seconds after an interrupt in which results are awaited."""


class Submit(NamedTuple):
    """Send a chunk to a worker."""

    worker: int
    chunk: Chunk


class Fail(NamedTuple):
    """Report rows as failed: they ended each worker that executed them."""

    rows: tuple[Row, ...]


class StopWorker(NamedTuple):
    """Send and await nothing more."""


Action = Submit | Fail | StopWorker | None
"""What to do next; None to wait for an event."""


class WorkPlan:
    """Distributes chunks to workers, and repeats those of killed workers.

    A worker answers its chunks in the order in which it received them. A chunk whose
    worker was killed is cut in half and repeated, until a single row, or sequence, has
    ended `MAX_DEATHS` workers.

    Parameters
    ----------
    workers
        Numbers of the workers. A worker receives chunks after `started`.
    """

    def __init__(self, workers: Iterable[int]) -> None:
        self._in_flight: dict[int, deque[Chunk]] = {each: deque() for each in workers}
        self._started: set[int] = set()
        self._pending: deque[Chunk] = deque()
        self._failed: deque[tuple[Row, ...]] = deque()
        self._deaths: Counter[int] = Counter()
        self._has_more = True
        self._stop_at: float | None = None

    @property
    def wants_chunk(self) -> bool:
        """Whether the next chunk of the data set can be sent at once."""
        if not self._has_more or self._pending or self._stop_at is not None:
            return False
        return self._free_worker() is not None

    def add(self, chunk: Chunk) -> None:
        """Add the next chunk of the data set."""
        self._pending.append(chunk)

    def end(self) -> None:
        """Note that the data set has no further chunks."""
        self._has_more = False

    def started(self, worker: int) -> None:
        """Note that a worker, or its replacement, is ready."""
        self._started.add(worker)

    def answered(self, worker: int) -> Chunk:
        """Return the chunk to which a worker's results belong."""
        return self._in_flight[worker].popleft()

    def refused(self, worker: int, rows: tuple[Row, ...]) -> None:
        """Replace the chunk just submitted, which cannot be sent, by some of its rows.

        Parameters
        ----------
        rows
            The rows that can be sent.
        """
        chunk = self._in_flight[worker].pop()
        if rows:
            self._pending.appendleft(chunk._replace(rows=rows))

    def died(self, worker: int) -> None:
        """Note that a worker was killed; `started` announces its replacement."""
        self._started.discard(worker)
        lost = list(self._in_flight[worker])
        self._in_flight[worker].clear()
        # Only the oldest chunk was being executed; the others are innocent.
        again = [*self._parts(lost[0]), *lost[1:]] if lost else []
        self._pending.extendleft(reversed(again))

    def _parts(self, chunk: Chunk) -> list[Chunk]:
        """Return the chunks by which a suspected one is repeated."""
        found = list(whole_sequences(chunk.rows))
        if len(found) > 1:
            middle = len(found) // 2
            halves = found[:middle], found[middle:]
            joined = itertools.chain.from_iterable
            return [chunk._replace(rows=tuple(joined(half))) for half in halves]
        first = chunk.rows[0].number
        self._deaths[first] += 1
        if self._deaths[first] < MAX_DEATHS:
            return [chunk]
        self._failed.append(chunk.rows)
        return []

    def interrupted(self, now: float) -> None:
        """Stop once all chunks in flight are answered, or after `GRACE_S`."""
        if self._stop_at is None:
            self._stop_at = now + GRACE_S

    def decide(self, now: float) -> Action:
        """Return the next action; call again until it returns None or `StopWorker`.

        Parameters
        ----------
        now
            Monotonic time in seconds.
        """
        if self._failed:
            return Fail(self._failed.popleft())
        is_idle = not any(self._in_flight.values())
        if self._stop_at is not None:
            return StopWorker() if is_idle or now >= self._stop_at else None
        worker = self._free_worker()
        if self._pending and worker is not None:
            chunk = self._pending.popleft()
            self._in_flight[worker].append(chunk)
            return Submit(worker, chunk)
        if is_idle and not self._pending and not self._has_more:
            return StopWorker()
        return None

    def wait_s(self, now: float) -> float | None:
        """Return the seconds until `decide` must be called again; None for no limit."""
        return None if self._stop_at is None else max(0.0, self._stop_at - now)

    def _free_worker(self) -> int | None:
        """Return the ready worker with the fewest chunks; None if all have enough."""
        free = [
            (len(self._in_flight[each]), each)
            for each in self._started
            if len(self._in_flight[each]) < MAX_IN_FLIGHT
        ]
        return min(free)[1] if free else None
