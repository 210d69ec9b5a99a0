"""Requests that are sent at given times, whether or not earlier ones were answered.

Latency is measured from the intended time. So a request that is sent late, because the
server or this process was busy, counts its delay.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, wait

from blsnb.benchmark.arrivals import Arrivals
from blsnb.benchmark.client import Sender
from blsnb.benchmark.closed_loop import Tick
from blsnb.benchmark.level import MAX_CLIENTS, Level, raise_errors
from blsnb.engine.threads.workers import Workers

_TICK_S = 0.1
_AHEAD_NS = 2_000_000
"""Time before a request at which it is handed to its thread, which then has to wake."""
WARM_SHARE = 0.1
"""Share of a level whose requests are not measured."""


def run_open(client: Sender, arrivals: Arrivals, workers: Workers, tick: Tick) -> Level:
    """Run one level. Ctrl-C ends it with the measurements so far.

    It also ends when as many requests are in flight as there may be threads.

    Raises
    ------
    BlsnbError
        No request could be made; see `run_closed`.
    """
    level = Level(arrivals.window_s)
    pacer = _Pacer(level, client, workers, tick)
    try:
        pacer.run(arrivals)
        wait(pacer.futures, timeout=max(0.0, level.drain_until_s - level.elapsed_s))
    except KeyboardInterrupt:
        level.interrupted = True
    finally:
        level.end(pacer.futures)
    raise_errors(pacer.futures)
    return level


class _Pacer:
    """Hands each request to a thread at its time."""

    def __init__(
        self, level: Level, client: Sender, workers: Workers, tick: Tick
    ) -> None:
        self._level = level
        self._client = client
        self._workers = workers
        self._tick = tick
        self._ticked_s = 0.0
        self.futures: list[Future[None]] = []

    def run(self, arrivals: Arrivals) -> None:
        """Send the requests until the last one, or until a thread fails."""
        sending = self._level.sending
        start_ns = time.monotonic_ns()
        sending.warm_ns = start_ns + int(arrivals.window_s * WARM_SHARE * 1e9)
        late_ns = warm_count = 0
        try:
            for number, offset_ns in enumerate(arrivals.times_ns):
                due_ns = start_ns + offset_ns
                if due_ns < sending.warm_ns:
                    warm_count = self._in_flight
                if not self._wait_until(due_ns - _AHEAD_NS):
                    break
                if self._in_flight >= MAX_CLIENTS:
                    sending.unsent = len(arrivals.times_ns) - number
                    break
                late_ns = max(0, time.monotonic_ns() - due_ns)
                self._send(number, due_ns)
            else:
                # The schedule has an end of its own, after the last request.
                self._wait_until(start_ns + int(arrivals.window_s * 1e9))
        finally:
            # Also after Ctrl-C.
            sending.window_s = (time.monotonic_ns() - start_ns) / 1e9
            sending.growth = self._in_flight - warm_count
        if sending.sent == len(arrivals.times_ns):
            sending.window_s = arrivals.window_s + late_ns / 1e9

    @property
    def _in_flight(self) -> int:
        return self._level.sending.sent - len(self._level.samples)

    def _wait_until(self, due_ns: int) -> bool:
        """Wait until a time; return whether the level continues."""
        level = self._level
        while not level.stopped.is_set():
            self._report()
            left_ns = due_ns - time.monotonic_ns()
            if left_ns <= 0:
                return True
            level.stopped.wait(min(_TICK_S, left_ns / 1e9))
        return False

    def _report(self) -> None:
        level = self._level
        if level.elapsed_s - self._ticked_s >= _TICK_S:
            self._ticked_s = level.elapsed_s
            self._tick(self._ticked_s / level.duration_s)

    def _send(self, number: int, due_ns: int) -> None:
        sending = self._level.sending
        future = self._workers.submit(self._work, number, due_ns)
        self.futures.append(future)
        sending.sent += 1
        sending.peak = max(sending.peak, self._in_flight)

    def _work(self, number: int, due_ns: int) -> None:
        left_ns = due_ns - time.monotonic_ns()
        if left_ns > 0:
            time.sleep(left_ns / 1e9)
        try:
            self._client.send(self._level, number, due_ns)
        except BaseException:
            self._level.stopped.set()
            raise
