"""Processors that computing work shares equally, or has in turns."""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Sequence
from functools import partial

from blsnb.planning.simulation.pace import STEADY, Pace
from blsnb.planning.simulation.timeline import Action, Timeline

TICK_NS = 4_000_000
"""Linux looks 250 times a second whether another process is to compute."""
SLICE_NS = 1_000_000
"""How long a process computes before another one may take its processor.

On two processors with two processes that always compute, one that wakes up got a
processor at once in 65 to 75 % of 300 times, and within 4.4 ms in 99 %: with ticks each
4 ms that is a slice of 1 to 1.4 ms.
"""


_STAY_SHARE = 0.75
"""Share of the processes that do not move to the only idle processor when they are
woken: the process that wakes them still has it. Fitted to the jobs of `SlicedCores`."""


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

    def compute(self, ns: int, done: Action, woken: bool = False) -> None:
        """Compute a piece of work of a length, then call a function."""
        self._advance()
        self._added += 1
        heapq.heappush(self._pieces, (self._work_ns + ns, self._added, done))
        self._set_alarm()

    @property
    def are_busy(self) -> bool:
        """Whether none is idle."""
        return len(self._pieces) >= self.count

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


class _Processor:
    """A processor, the piece that it computes, and those that wait for it."""

    __slots__ = ("alarm", "done", "is_idle", "pace", "since_ns", "until_ns", "waiting")

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.is_idle = True
        self.until_ns = 0.0
        """The processor's work at the end of the piece."""
        self.since_ns = self.alarm = 0
        self.done: Action = nothing
        self.waiting: deque[tuple[float, Action]] = deque()

    def used_ns(self, now_ns: int) -> int:
        """Return how long the piece has computed since its begin or the last tick."""
        return now_ns - max(self.since_ns, now_ns - now_ns % TICK_NS)


def nothing() -> None:
    """Do nothing."""


class SlicedCores:
    """Computes work on whole processors, each with pieces that it has taken turns on.

    So does Linux with its scheduler EEVDF. A piece that comes, that is a process that
    wakes up, takes an idle processor, or else the one where it ran before, which is a
    random one here. There it preempts a piece that has used its slice, and else waits
    until a tick at which that has happened. A processor without work takes a piece that
    waits for another one at the next tick.

    The processor of the process that wakes it is not idle yet. If it is the only one
    without other work, three of four pieces stay where they ran before.

    So short work hardly waits for long work, and a long piece shares one processor with
    another long piece, even if a third one has the other processor for itself.

    Jobs of 5 ms in 48 processes, which one process woke at random times on two
    processors, had medians of 8.0 and 10.8 ms and means of 10.2 and 15.8 ms at two
    loads; simulated with their own processor times 8.4 and 10.8 ms, 9.9 and 14.1 ms.
    With processors that take waiting pieces at once, and pieces that always find an
    idle one, the means were 8.1 and 10.9 ms.

    Parameters
    ----------
    paces
        The speed of each processor over time; empty if it does not vary.
    seed
        Of the processors where pieces ran before.

    References
    ----------
    linux: Documentation/scheduler/sched-eevdf.rst; kernel/sched/fair.c,
    "tick driven preemption is driven by slice completion, while wakeup preemption is
    driven by the deadline"; kernel/sched/features.h, RUN_TO_PARITY
    """

    def __init__(
        self,
        timeline: Timeline,
        count: int,
        paces: Sequence[Pace] = (),
        seed: int = 0,
    ) -> None:
        self._timeline = timeline
        self._chance = random.Random(f"processors {seed}")
        self._takes_ns = -1
        """Tick at which idle processors take pieces that wait for others."""
        self.count = count
        self._processors = [_Processor(each) for each in paces or [STEADY] * count]
        self._idle = self._processors.copy()
        self.busy_ns = 0.0
        """Processor time of all pieces."""

    def compute(self, ns: int, done: Action, woken: bool = False) -> None:
        """Compute a piece of work of a length, then call a function.

        Parameters
        ----------
        woken
            Whether another process wakes the one that computes it.
        """
        idle_count = len(self._idle)
        is_last = woken and idle_count == 1 < self.count
        stays = is_last and self._chance.random() < _STAY_SHARE
        if idle_count and not stays:
            self._run(self._idle.pop(), ns, done)
            return
        busy = [each for each in self._processors if not each.is_idle]
        before = busy[int(self._chance.random() * len(busy))]
        if not before.waiting and before.used_ns(self._timeline.now_ns) >= SLICE_NS:
            before.waiting.append(self._stop(before))
            self._run(before, ns, done)
        else:
            before.waiting.append((ns, done))
            self._set_alarm(before)
        if idle_count:
            self._take_at_tick()

    @property
    def are_busy(self) -> bool:
        """Whether none is idle."""
        return not self._idle

    def _run(self, processor: _Processor, ns: float, done: Action) -> None:
        now_ns = processor.since_ns = self._timeline.now_ns
        processor.is_idle = False
        processor.until_ns = processor.pace.work_ns(now_ns) + ns
        processor.done = done
        self._set_alarm(processor)

    def _stop(self, processor: _Processor) -> tuple[float, Action]:
        """Return what is left of the piece."""
        now_ns = self._timeline.now_ns
        self.busy_ns += now_ns - processor.since_ns
        left_ns = processor.until_ns - processor.pace.work_ns(now_ns)
        return left_ns, processor.done

    def _set_alarm(self, processor: _Processor) -> None:
        """Look again at the end of the piece, or when another one has its turn."""
        processor.alarm += 1
        at_ns = math.ceil(processor.pace.time_ns(processor.until_ns))
        if processor.waiting:
            used_ns = max(processor.since_ns + SLICE_NS, self._timeline.now_ns + 1)
            at_ns = min(at_ns, used_ns + -used_ns % TICK_NS)
        self._timeline.at(at_ns, partial(self._ring, processor, processor.alarm))

    def _ring(self, processor: _Processor, alarm: int) -> None:
        if alarm != processor.alarm:
            return
        left_ns, done = self._stop(processor)
        if left_ns >= 1:
            processor.waiting.append((left_ns, done))
            self._run(processor, *processor.waiting.popleft())
            return
        self._next(processor)
        done()

    def _next(self, processor: _Processor) -> None:
        """Compute a piece that waits here; without one, wait for those of others."""
        if processor.waiting:
            self._run(processor, *processor.waiting.popleft())
            return
        processor.is_idle = True
        self._idle.append(processor)
        if any(each.waiting for each in self._processors):
            self._take_at_tick()

    def _take_at_tick(self) -> None:
        now_ns = self._timeline.now_ns
        at_ns = now_ns + TICK_NS - now_ns % TICK_NS
        if at_ns > self._takes_ns:
            self._takes_ns = at_ns
            self._timeline.at(at_ns, self._take)

    def _take(self) -> None:
        """Let idle processors compute what waits for others."""
        while self._idle:
            source = max(self._processors, key=_waiting)
            if not source.waiting:
                return
            self._run(self._idle.pop(), *source.waiting.popleft())


def _waiting(processor: _Processor) -> int:
    return len(processor.waiting)


Processors = Cores | SlicedCores
