"""A decoupled request in flight, with any number of responses."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.inflight import Inflight, current_execution
from blsnb.engine.request.lifetime import RootRequest, check_time, seconds_until
from blsnb.engine.request.validation import RequestError
from blsnb.engine.threads.waiter import Waiter
from blsnb.errors import WouldHang
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.trace.events import Call, CallFlag

_COLLECT_AFTER_S = 0.2
"""Seconds of waiting after which reference cycles are collected once."""


class Readable(Protocol):
    """The responses of a request, for one reader that reads them in order."""

    def get(self, number: int, until_ns: int = ...) -> ResponseMessage | None:
        """Wait for a response and return it; None after the last one.

        Earlier responses are dropped.
        """

    def cancel(self) -> None:
        """Cancel the request: no more responses are wanted."""

    def leave(self) -> None:
        """Note that the reader has left; takes no lock."""


class OutputPlacement(Protocol):
    """Moves the outputs of responses to the devices that their callers prefer."""

    def outputs(self, inflight: Inflight, response: ResponseMessage) -> None:
        """Move the outputs of a response; a failure becomes the response's error."""


class Left(Exception):
    """The reader of the responses has left."""


class SingleResponse:
    """The only response to a request: of a model that is not decoupled, or an error."""

    def __init__(self, response: ResponseMessage) -> None:
        self._response = response

    def get(self, number: int, until_ns: int = 0) -> ResponseMessage | None:
        """Return the response, which is number 0."""
        return self._response if number == 0 else None

    def cancel(self) -> None:
        """Do nothing: the request is done."""

    def leave(self) -> None:
        """Do nothing: the request is done."""


class FinalFlag(ResponseMessage):
    """The final flag, sent alone, as an empty response."""

    __slots__ = ()


class StreamInflight(Inflight):
    """A decoupled request in flight, and its unread responses.

    Any thread may send responses, also after ``execute`` has returned. The one reader
    gets them by number, in order.
    """

    __slots__ = (
        "_collected",
        "_count",
        "_executed",
        "_first",
        "_hang",
        "_left",
        "_lock",
        "_then",
        "_unread",
        "_waiters",
        "_watch",
        "placement",
        "refusal",
    )
    decoupled = True

    def __init__(self, message: RequestMessage, root: RootRequest, call: Call) -> None:
        super().__init__(message, root, call)
        self.placement: OutputPlacement | None = None
        """Moves the outputs; None without a device."""
        self.refusal: RequestError | None = None
        """Raised for the client in place of the only response."""
        self._unread: deque[ResponseMessage] = deque()
        self._first = 0
        """Number of the first unread response."""
        self._count = 0
        self._left = False
        """Whether the reader has left."""
        self._lock = threading.Lock()
        self._waiters: list[Waiter] = []
        self._executed = False
        self._collected = False
        self._hang: WouldHang | None = None
        self._then: Callable[[], None] | None = None
        self._watch: weakref.ref[Any] | None = None

    @property
    def is_open(self) -> bool:
        """Whether its reader still waits for an answer of the model."""
        return self._hang is None and not self._left and super().is_open

    def send(self, response: ResponseMessage | None, final: bool) -> None:
        """Receive a response of the model's sender, the final flag, or both."""
        if self.root.ended is not None:
            self._refuse()
            return
        response = FinalFlag() if response is None else response
        response.final = final
        self._take(response)

    def finish(self, response: ResponseMessage | None = None) -> None:
        """End the stream, with a last response if there is one."""
        response = FinalFlag() if response is None else response
        response.final = True
        self._take(response)

    def abandon(self, response: ResponseMessage) -> None:
        """End the stream with an error, because no ``execute`` will run for it."""
        self._executed = True
        self.finish(response)

    def _refuse(self) -> None:
        """Unwind ``execute``, even if it is a coroutine that shares its thread."""
        execution = current_execution.get()
        if execution is not None and self in execution.inflights:
            self.root.check()
        super()._refuse()

    def _take(self, response: ResponseMessage) -> None:
        if self.placement is not None:
            self.placement.outputs(self, response)
        with self._lock:
            if self.final:
                return
            self._count += 1
            self._record(response)
            self._unread.append(response)
            if self._left:
                self._unread.clear()
            self.final = response.final
            waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.wake()
        if response.final:
            self._complete()

    def _record(self, response: ResponseMessage) -> None:
        call = self.call
        if response.error is not None and not call.flags & CallFlag.ERROR:
            # Before a reader wakes: it may look at the call at once.
            call.flags |= CallFlag.ERROR
            call.error, call.error_code = response.error, response.code
        log = call.responses
        assert log is not None
        log.add(
            CLOCK.now_ns(),
            response.outputs,
            response.error or "",
            tuple(response.parameters.items()),
        )

    def sent(self) -> tuple[int, bool]:
        """Return the number of responses sent, and whether the final flag was sent.

        A final flag that is sent alone counts as a response.
        """
        return self._count, self.final

    def executed(self, where: str) -> None:
        """Note that ``execute`` has returned.

        Once nothing holds the model's request object, no further response can be sent.

        Parameters
        ----------
        where
            The location of ``execute``, as text.
        """
        self._executed = True
        if not self.final:
            held = self.held and self.held()
            if held is None:
                self._dropped(where)
            else:
                self._watch = weakref.ref(held, lambda _: self._dropped(where))
                # A waiting reader may have to collect reference cycles.
                self._wake_readers()
        self._complete()

    def over(self) -> None:
        """Note that no code of the model runs for it after the final flag."""
        self._executed = True
        self._complete()

    def _dropped(self, where: str) -> None:
        """End a stream to which nothing can send a response any more."""
        if not self.final:
            self._hang = hang.unanswered(self, where)
            self._wake_readers()
            self._end_unread()

    def _wake_readers(self) -> None:
        # No lock: the collector may call this anywhere, even where the lock is held.
        for waiter in list(self._waiters):
            waiter.wake()

    def then(self, then: Callable[[], None]) -> None:
        """Call a function once, when both ``execute`` and the stream have ended."""
        self._then = then

    def _complete(self) -> None:
        with self._lock:
            if not (self.final and self._executed):
                return
            then, self._then = self._then, None
        if then is not None:
            then()

    def cancel(self) -> None:
        """Cancel the request; the model can check `is_cancelled`."""
        self.cancelled = True

    def leave(self) -> None:
        """Note that the reader has left: unread and later responses are dropped.

        The model continues. Takes no lock: the collector may call it anywhere.
        """
        self._left = True
        self._unread.clear()
        self._wake_readers()
        self._end_unread()

    @property
    def lost(self) -> bool:
        """Whether the stream never ends and has no reader that would notice."""
        hangs = self._hang is not None and not self.final
        return self._left and (hangs or self.root.ended is not None)

    def _end_unread(self) -> None:
        """End the record of a lost stream. Takes no lock."""
        if not self.lost:
            return
        if self._hang is not None and not self.call.request_end_ns:
            self.note(self._hang.message)
            self.call.request_end_ns = CLOCK.now_ns()
            self.root.record.hold(self.call)
        if self.call.parent is None:
            self.root.end_abandoned()

    def get(self, number: int, until_ns: int = 0) -> ResponseMessage | None:
        """Wait for a response and return it; None if the stream ends before it.

        Parameters
        ----------
        number
            That of the latest response read, or the next one; earlier responses
            are dropped.
        until_ns
            Monotonic deadline of the reader; 0 for none. Responses that are unread at
            the deadline are lost to it, as to gRPC's client.

        Raises
        ------
        Unwind
            The client request has ended, or this wait ends it.
        TooLate
            The reader's deadline has passed.
        Left
            The reader has left.
        RequestError
            The model's scheduler has refused the request of a client.
        """
        while True:
            with self._lock:
                self._forget(number)
                if self._unread:
                    check_time(until_ns)
                    if self.refusal is not None:
                        raise self.refusal
                    return self._unread[0]
                if self.final and not self._left:
                    return None
                waiter = Waiter()
                self._waiters.append(waiter)
            if self._left:
                raise Left
            if self._hang is not None:
                self.root.end(self._hang)
                self.root.check()
            self._wait(waiter, until_ns)

    def _forget(self, before: int) -> None:
        """Drop the responses that were read."""
        while self._first < before and self._unread:
            self._unread.popleft()
            self._first += 1

    def _wait(self, waiter: Waiter, until_ns: int) -> None:
        __tracebackhide__ = True
        if self._executed and not self._collected:
            left_s = seconds_until(until_ns) if until_ns else _COLLECT_AFTER_S
            if waiter.wait(min(left_s, _COLLECT_AFTER_S)):
                return
            self._collected = True
            # An unreachable request in a reference cycle is not freed at once.
            gc.collect()
        self.root.wait(waiter, lambda s: hang.notice(self, s), until_ns)
