"""The lifetime of a client request and of all requests that it causes."""

from __future__ import annotations

import math
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass, field

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.request.failure import drop_inner_frames, innermost_outside, joined
from blsnb.engine.request.interrupts import Folders, in_model
from blsnb.engine.threads import async_exception, until_left
from blsnb.engine.threads.repetition import GRACE_NS
from blsnb.engine.threads.waiter import Waiter
from blsnb.errors import RequestInterrupted, WouldHang
from blsnb.request_fields import check_timeout
from blsnb.trace.events import CallFlag
from blsnb.trace.run_record import RunRecord

HangNotice = Callable[[float], None]
TOO_LATE = ("Deadline Exceeded", "DEADLINE_EXCEEDED")
"""Text and code of gRPC for a client whose deadline has passed."""


class Unwind(BaseException):
    """Raised to leave model code when the client request has ended.

    Private, and not an Exception, so that a model does not catch it. Not a
    KeyboardInterrupt, which would stop an event loop.
    """


class TooLate(Exception):
    """The client's deadline passed during a wait."""


@dataclass(eq=False, repr=False)
class RootRequest:
    """Whether a client request has ended, and which threads wait for it."""

    record: RunRecord
    """Record of the run."""
    hang_notice_s: float
    """Seconds after which a wait is reported; the wait continues."""
    deadline_ns: int = 0
    """Monotonic time at which the client leaves; 0 for no deadline."""
    folders: Folders = tuple
    """Returns the folders of the models' files."""
    ended: BaseException | None = None
    """Why the request has ended; None while it has not."""
    on_arrival: Callable[[], None] | None = None
    """Called once, when the request is in the queue of its first model."""
    _waiters: set[Waiter] = field(default_factory=set)
    _cancelled: bool = False
    _is_complete: bool = False
    _grace_end_ns: int = 0
    """Monotonic time until which an interrupted model may clean up."""
    _completion: Waiter | None = None
    """Wakes the thread that waits for the completion."""

    def arrive(self) -> None:
        """Note that the request is queued; later requests cannot overtake it."""
        call, self.on_arrival = self.on_arrival, None
        if call is not None:
            call()

    def end(self, reason: BaseException) -> None:
        """End the request with an error for its client; wake all waiting threads."""
        if self.ended is None:
            self._grace_end_ns = CLOCK.now_ns() + GRACE_NS
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
        self.note_interrupted_at(error.__traceback__)
        return True

    def note_interrupted_at(self, trace: types.TracebackType | None) -> None:
        """Keep the first traceback with which Ctrl-C left model code."""
        ended = self.ended
        if isinstance(ended, RequestInterrupted) and ended.__traceback__ is None:
            ended.__traceback__ = innermost_outside(trace)

    def unwound(self, error: BaseException) -> None:
        """Add the callers that the exception has left to the innermost traceback."""
        ended = self.ended
        if isinstance(ended, RequestInterrupted):
            inner, outer = ended.__traceback__, error.__traceback__
            ended.__traceback__ = joined(outer, inner)

    def interrupt_thread(self, thread_id: int, is_repeated: bool) -> None:
        """Unwind the model that another thread runs, after the request has ended."""
        frame = sys._current_frames().get(thread_id)
        if frame is not None and in_model(frame, self.folders(), is_repeated):
            kind = self.unwinding(thread_id, frame, is_repeated)
            if kind is not None:
                async_exception.raise_in(thread_id, kind, is_repeated)

    def unwinding(
        self, thread_id: int, frame: types.FrameType, is_repeated: bool
    ) -> type[BaseException] | None:
        """Return what unwinds a model; if repeated, see `until_left.prepare`."""
        if not is_repeated:
            return Unwind
        folders = self.folders

        def is_due(frame: types.FrameType) -> bool:
            return in_model(frame, folders(), is_repeated=True)

        return until_left.prepare(Unwind, thread_id, frame, is_due)

    def leave_running(self, frame: types.FrameType | None) -> None:
        """End the interrupt's traceback in a frame that its model has not left."""
        trace: types.TracebackType | None = None
        while frame is not None:
            line = frame.f_lineno or frame.f_code.co_firstlineno
            trace = types.TracebackType(trace, frame, max(frame.f_lasti, 0), line)
            frame = frame.f_back
        self.note_interrupted_at(trace)

    def cancel(self) -> None:
        """Note that the caller has cancelled the request; nothing is interrupted.

        Takes no lock: the collector may call it anywhere.
        """
        self._cancelled = True
        for call in self.record.calls[:1]:
            if not call.request_end_ns:
                call.flags |= CallFlag.CANCELLED

    def close_calls(self) -> None:
        """Close the calls that the ended request left open."""
        now = CLOCK.now_ns()
        for call in self.record.calls:
            if not call.request_end_ns:
                call.flags |= CallFlag.CANCELLED | CallFlag.ERROR
                call.error = call.error or str(self.ended) or "interrupted"
                call.request_end_ns = now

    def end_abandoned(self) -> None:
        """End the record of a request whose client has left.

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
        """Wait for the completion; return False after `timeout_s` seconds."""
        self._completion = waiter = self._completion or Waiter()
        return self._is_complete or waiter.wait(timeout_s)

    def raise_ended(self, has_response: bool = False) -> None:
        """Raise the reason for which the request ended, if it did.

        Parameters
        ----------
        has_response
            Whether a response can be read: one that was sent before a hang is still
            delivered.
        """
        __tracebackhide__ = True
        ended = self.ended
        if ended is None or (has_response and isinstance(ended, WouldHang)):
            return
        drop_inner_frames(ended)
        raise ended

    def check(self) -> None:
        """Leave model code if the request has ended."""
        if self.ended is not None:
            raise Unwind

    def check_after_grace(self) -> None:
        """Leave model code if the request ended before its cleanup had to be done."""
        ended = self.ended
        if ended is None:
            return
        is_interrupted = isinstance(ended, RequestInterrupted)
        if not is_interrupted or CLOCK.now_ns() > self._grace_end_ns:
            raise Unwind

    @property
    def cancelled(self) -> bool:
        """Whether the caller has cancelled the request or its deadline has passed."""
        if self.ended is not None or self._cancelled:
            return True
        return bool(self.deadline_ns) and CLOCK.now_ns() > self.deadline_ns

    def wait(
        self, waiter: Waiter, notice: HangNotice | None = None, until_ns: int = 0
    ) -> None:
        """Wait until woken.

        Parameters
        ----------
        notice
            Called with the seconds waited when the wait takes long.
        until_ns
            Monotonic time at which the wait ends; 0 for no limit.

        Raises
        ------
        Unwind
            The request ended during the wait.
        TooLate
            The deadline has passed.
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
    check_timeout(client_timeout_s)
    if client_timeout_s is None or client_timeout_s == math.inf:
        return 0
    return CLOCK.now_ns() + round(client_timeout_s * 1e9)


def check_time(until_ns: int) -> None:
    """Raise `TooLate` if the time has passed."""
    if until_ns and CLOCK.now_ns() > until_ns:
        raise TooLate


def seconds_until(until_ns: int) -> float:
    """Return the seconds until a time; 0 if it has passed."""
    left_s = (until_ns - CLOCK.now_ns()) / 1e9
    return min(max(0.0, left_s), threading.TIMEOUT_MAX)


def _woken(waiter: Waiter, seconds: float | None, until_ns: int) -> bool:
    __tracebackhide__ = True
    if not until_ns:
        return CLOCK.wait(waiter, seconds)
    left_s = seconds_until(until_ns)
    if seconds is not None and seconds < left_s:
        return CLOCK.wait(waiter, seconds)
    if not CLOCK.wait(waiter, left_s):
        raise TooLate
    return True
