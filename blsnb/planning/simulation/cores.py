"""Processors: computing work shares them equally, or has them in turns."""

from __future__ import annotations

import heapq
from collections import deque

from blsnb.planning.simulation.timeline import Action, Timeline


class Cores:
    """Computes work on a number of processors, each piece on at most one.

    More pieces than processors share them equally. Work is counted in a time of its
    own, which advances by what each piece has received: so a piece ends when that time
    has advanced by its length, whatever else begins or ends until then.

    Parameters
    ----------
    count
        Number of processors; less than the machine has where work excludes other work.
    """

    def __init__(self, timeline: Timeline, count: float) -> None:
        self._timeline = timeline
        self.count = count
        self._work_ns = 0.0
        self._read_ns = 0
        self._pieces: list[tuple[float, int, Action]] = []
        self._added = 0
        self._alarm = 0
        """Number of the only alarm that counts."""
        self.busy_ns = 0.0
        """Processor time of all pieces."""

    def compute(self, ns: int, done: Action) -> None:
        """Compute a piece of work of a length, then call a function."""
        self._advance()
        self._added += 1
        heapq.heappush(self._pieces, (self._work_ns + ns, self._added, done))
        self._set_alarm()

    @property
    def _share(self) -> float:
        """Part of a processor that each piece has."""
        return min(1.0, self.count / len(self._pieces))

    def _advance(self) -> None:
        now_ns = self._timeline.now_ns
        if self._pieces:
            received_ns = (now_ns - self._read_ns) * self._share
            self._work_ns += received_ns
            self.busy_ns += received_ns * len(self._pieces)
        self._read_ns = now_ns

    def _set_alarm(self) -> None:
        self._alarm += 1
        if self._pieces:
            number = self._alarm
            left_ns = max(0.0, self._pieces[0][0] - self._work_ns) / self._share
            self._timeline.after(-int(-left_ns // 1), lambda: self._ring(number))

    def _ring(self, number: int) -> None:
        if number != self._alarm:
            return
        self._advance()
        ended = []
        while self._pieces and self._pieces[0][0] <= self._work_ns + 1:
            ended.append(heapq.heappop(self._pieces)[2])
        self._set_alarm()
        for done in ended:
            done()


class SlicedCores:
    """Computes work on whole processors, each piece for a time slice in its turn.

    So does an operating system: a short piece ends in its first slice, before later
    pieces begin, and one that comes while long pieces have all processors waits.

    Parameters
    ----------
    slice_ns
        How long a piece has its processor while others wait.
    """

    def __init__(self, timeline: Timeline, count: int, slice_ns: int) -> None:
        self._timeline = timeline
        self._slice_ns = slice_ns
        self.count = count
        self._running = 0
        self._waiting: deque[tuple[int, Action]] = deque()
        self.busy_ns = 0.0
        """Processor time of all pieces."""

    def compute(self, ns: int, done: Action) -> None:
        """Compute a piece of work of a length, then call a function."""
        self._waiting.append((ns, done))
        self._start()

    def _start(self) -> None:
        while self._waiting and self._running < self.count:
            self._running += 1
            self._run(*self._waiting.popleft())

    def _run(self, left_ns: int, done: Action) -> None:
        ns = min(left_ns, self._slice_ns)
        self._timeline.after(ns, lambda: self._ran(ns, left_ns - ns, done))

    def _ran(self, ns: int, left_ns: int, done: Action) -> None:
        self.busy_ns += ns
        self._running -= 1
        if left_ns:
            self._waiting.append((left_ns, done))
        self._start()
        if not left_ns:
            done()


Processors = Cores | SlicedCores
