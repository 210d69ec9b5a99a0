"""RootRequest: the life of one client request, with everything that it causes."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from blsnb.engine.request.failure import (
    end_at_the_reader,
    innermost_outside,
    joined,
)
from blsnb.engine.request.interrupts import InterruptHandler, in_model
from blsnb.engine.threads import async_exception
from blsnb.engine.threads.waiter import Waiter
from blsnb.errors import RequestInterrupted, WouldHang
from blsnb.request_fields import check_timeout
from blsnb.trace.events import CallFlag
from blsnb.trace.run_record import RunRecord

HangNotice = Callable[[float], None]
TOO_LATE = ("Deadline Exceeded", "DEADLINE_EXCEEDED")
"""Text and code of gRPC for a client whose deadline has passed."""


class Unwind(BaseException):
    """Leaves model code when its whole request has ended; never an answer.

    Private, and no Exception: no fallback of a model may turn it into one. It is
    no KeyboardInterrupt either, which would stop an event loop.
    """


class TooLate(Exception):
    """The client's deadline passed while it waited."""


@dataclass(eq=False, repr=False)
class RootRequest:
    """The life of a client request: whether it has ended, and which threads wait."""

    record: RunRecord
    """Record of the run."""
    hang_notice_s: float
    """Seconds after which a wait is reported, and goes on."""
    deadline_ns: int = 0
    """Monotonic time at which the client leaves; 0 for no deadline."""
    folders: Callable[[], Iterable[Path]] = tuple
    """Returns the folders of the models' files."""
    ended: BaseException | None = None
    """Why the request has ended; None while it has not."""
    on_arrival: Callable[[], None] | None = None
    """Called once, when the request is in the queue of its first model."""
    _waiters: set[Waiter] = field(default_factory=set)
    _cancelled: bool = False
    _is_complete: bool = False
    _completion: Waiter | None = None
    """Wakes the thread that waits for the completion."""

    def arrive(self) -> None:
        """Note that the request is in a queue: no later one overtakes it there."""
        call, self.on_arrival = self.on_arrival, None
        if call is not None:
            call()

    def end(self, reason: BaseException) -> None:
        """End the request for a reason, which its caller will see; wake all waits."""
        if self.ended is None:
            self.ended = reason
        for waiter in list(self._waiters):
            waiter.wake()

    def ended_by(self, error: BaseException) -> bool:
        """Whether the request has ended, where an exception leaves model code.

        The reason then has the traceback of the innermost model that was left.
        """
        ended = self.ended
        if ended is None:
            return False
        self.left_at(error.__traceback__)
        return True

    def left_at(self, trace: types.TracebackType | None) -> None:
        """Note where Ctrl-C left model code; only the first traceback counts."""
        ended = self.ended
        if isinstance(ended, RequestInterrupted) and ended.__traceback__ is None:
            ended.__traceback__ = innermost_outside(trace)

    def unwound(self, error: BaseException) -> None:
        """Put the callers that an exception has left around the innermost model."""
        ended = self.ended
        if isinstance(ended, RequestInterrupted):
            inner, outer = ended.__traceback__, error.__traceback__
            ended.__traceback__ = joined(outer, inner)

    def interrupt_thread(self, thread_id: int, is_repeated: bool) -> None:
        """Unwind the model that another thread runs, after the request has ended."""
        frame = sys._current_frames().get(thread_id)
        if frame is not None and in_model(frame, self.folders(), is_repeated):
            kind = self._unwind_until_left(thread_id) if is_repeated else Unwind
            async_exception.raise_in(thread_id, kind)

    def _unwind_until_left(self, thread_id: int) -> type[Unwind]:
        """Return an exception that is raised again as long as it is in a model."""
        folders, again = self.folders, async_exception.RAISE

        class RepeatedUnwind(Unwind):
            def __init__(self) -> None:
                super().__init__()
                if in_model(sys._getframe(1), folders(), is_repeated=True):
                    # No call: after one it would be raised right here.
                    for _ in map(again, (thread_id,), (RepeatedUnwind,)):
                        return

        return RepeatedUnwind

    def leave_running(self, thread_id: int) -> None:
        """End the interrupt's traceback where another thread still runs a model."""
        frame = sys._current_frames().get(thread_id)
        trace: types.TracebackType | None = None
        while frame is not None:
            line = frame.f_lineno or frame.f_code.co_firstlineno
            trace = types.TracebackType(trace, frame, max(frame.f_lasti, 0), line)
            frame = frame.f_back
        self.left_at(trace)

    def cancel(self) -> None:
        """Note that the caller no longer wants the answer; nothing is interrupted.

        Takes no lock: the collector may call it anywhere.
        """
        self._cancelled = True
        for call in self.record.calls[:1]:
            if not call.request_end_ns:
                call.flags |= CallFlag.CANCELLED

    def close_calls(self) -> None:
        """Mark what the ended request left open: it happened, and it has an end."""
        now = time.monotonic_ns()
        for call in self.record.calls:
            if not call.request_end_ns:
                call.request_end_ns = now
                call.flags |= CallFlag.CANCELLED | CallFlag.ERROR
                call.error = call.error or str(self.ended) or "interrupted"

    def lose(self) -> None:
        """End the record of a request without a client.

        Takes no lock: the collector may call it anywhere.
        """
        if self.ended is not None:
            self.close_calls()
        self.record.ended = True
        self.complete()

    def complete(self) -> None:
        """Note that the request is complete; wake the thread that waits for that.

        Takes no lock: the collector may call it anywhere.
        """
        self._is_complete = True
        if self._completion is not None:
            self._completion.wake()

    def wait_until_complete(self, timeout_s: float) -> bool:
        """Return whether the request has completed, after at most `timeout_s`."""
        self._completion = waiter = self._completion or Waiter()
        return self._is_complete or waiter.wait(timeout_s)

    def raise_ended(self, has_response: bool = False) -> None:
        """Raise why the request ended, for its client.

        Parameters
        ----------
        has_response
            Whether there is a response to read: one that was sent before the
            request would hang is still delivered.
        """
        __tracebackhide__ = True
        ended = self.ended
        if ended is None or (has_response and isinstance(ended, WouldHang)):
            return
        end_at_the_reader(ended)
        raise ended

    def check(self) -> None:
        """Leave model code if the request has ended."""
        if self.ended is not None:
            raise Unwind

    @property
    def cancelled(self) -> bool:
        """Whether the caller no longer wants the answer."""
        if self.ended is not None or self._cancelled:
            return True
        return bool(self.deadline_ns) and time.monotonic_ns() > self.deadline_ns

    def wait(
        self, waiter: Waiter, notice: HangNotice | None = None, until_ns: int = 0
    ) -> None:
        """Wait until woken.

        Parameters
        ----------
        notice
            Told after a while how many seconds the wait has lasted.
        until_ns
            Monotonic time at which the wait ends; 0 for no limit.

        Raises
        ------
        Unwind
            The request ended meanwhile.
        TooLate
            It is time to leave.
        """
        __tracebackhide__ = True
        self._waiters.add(waiter)
        try:
            self.check()
            if not _woken(waiter, self.hang_notice_s, until_ns):
                if notice is not None:
                    notice(self.hang_notice_s)
                _woken(waiter, None, until_ns)
        finally:
            self._waiters.discard(waiter)
        self.check()


def deadline_ns(client_timeout_s: float | None) -> int:
    """Return when a client leaves that begins to wait now; 0 for no deadline.

    Raises
    ------
    InputError
        The timeout is not a number.
    """
    __tracebackhide__ = True
    if client_timeout_s is None or client_timeout_s == math.inf:
        return 0
    check_timeout(client_timeout_s)
    return time.monotonic_ns() + round(client_timeout_s * 1e9)


def check_time(until_ns: int) -> None:
    """Raise `TooLate` if the time has passed."""
    if until_ns and time.monotonic_ns() > until_ns:
        raise TooLate


def seconds_until(until_ns: int) -> float:
    """Return how long it is until a time, as a wait takes it; 0 for a time past."""
    left_s = (until_ns - time.monotonic_ns()) / 1e9
    return min(max(0.0, left_s), threading.TIMEOUT_MAX)


def _woken(waiter: Waiter, seconds: float | None, until_ns: int) -> bool:
    __tracebackhide__ = True
    if not until_ns:
        return waiter.wait(seconds)
    left_s = seconds_until(until_ns)
    if seconds is not None and seconds < left_s:
        return waiter.wait(seconds)
    if not waiter.wait(left_s):
        raise TooLate
    return True


@contextlib.contextmanager
def interruptible(
    root: RootRequest, models: Callable[[], Iterable[Path]]
) -> Iterator[None]:
    """Let Ctrl-C end the request, whatever the models make of it.

    Only the main thread gets signals. The interrupt is raised where model code
    or the user's code runs; inside the engine it is noted, so that an instance is
    never lost half-way between two lists. A model that goes on gets it again. What
    unwinds the ended request stops here: `RootRequest.raise_ended` then raises why
    it ended.

    Parameters
    ----------
    models
        Returns the folders of the models' files.
    """
    previous = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    # None: a handler that is not Python's, and could not be restored.
    is_handled = is_main and previous is not None and previous is not signal.SIG_IGN
    handler: InterruptHandler | None = None

    def on_interrupt(number: int, frame: types.FrameType | None) -> None:
        nonlocal handler
        if handler is None:
            handler = InterruptHandler(root.end, models, previous)
        handler.handle(number, frame)

    if is_handled:
        signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    except Unwind as error:
        root.unwound(error)
    except KeyboardInterrupt as error:
        if not root.ended_by(error):
            raise
    finally:
        if is_handled:
            if handler is not None:
                handler.close()
            if signal.getsignal(signal.SIGINT) is on_interrupt:
                signal.signal(signal.SIGINT, previous)
