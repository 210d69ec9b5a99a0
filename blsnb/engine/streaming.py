"""StreamInflight: a decoupled request, which has any number of responses."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from blsnb.engine import hang
from blsnb.engine.inflight import Inflight, current_execution
from blsnb.engine.root import RootRequest
from blsnb.engine.waiter import Waiter
from blsnb.errors import WouldHang
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.trace.events import Call, ResponseEvent

_COLLECT_AFTER_S = 0.2


class Single:
    """The only answer: of a model that is not decoupled, or a refusal."""

    def __init__(self, response: ResponseMessage) -> None:
        self._response = response

    def get(self, number: int) -> ResponseMessage | None:
        """Return the response, which is number 0."""
        return self._response if number == 0 else None

    def cancel(self) -> None:
        """Do nothing: the request is done."""


class FinalFlag(ResponseMessage):
    """The final flag, sent alone: an empty response for whoever wants to know."""

    __slots__ = ()


class StreamInflight(Inflight):
    """A decoupled request on its way, and all that was answered so far.

    Responses come from any thread, also after ``execute`` has returned, and are
    kept: a consumer asks for them by number.

    Parameters
    ----------
    keep_values
        Whether the trace keeps the responses' tensors.
    """

    __slots__ = (
        "_collected",
        "_executed",
        "_hang",
        "_keep_values",
        "_lock",
        "_then",
        "_waiters",
        "_watch",
        "responses",
    )
    decoupled = True

    def __init__(
        self,
        message: RequestMessage,
        root: RootRequest,
        call: Call,
        keep_values: bool,
    ) -> None:
        super().__init__(message, root, call)
        self.responses: list[ResponseMessage] = []
        self._keep_values = keep_values
        self._lock = threading.Lock()
        self._waiters: list[Waiter] = []
        self._executed = False
        self._collected = False
        self._hang: WouldHang | None = None
        self._then: Callable[[], None] | None = None
        self._watch: weakref.ref[Any] | None = None
        call.responses = []

    def send(self, response: ResponseMessage | None, final: bool) -> None:
        """Take a response from the model's sender, the final flag, or both."""
        if self.root.ended is not None:
            self._refuse()
            return
        response = FinalFlag() if response is None else response
        response.final = final
        self._take(response)

    def finish(self, response: ResponseMessage | None = None) -> None:
        """End the stream, with a last response if one is given."""
        response = FinalFlag() if response is None else response
        response.final = True
        self._take(response)

    def abandon(self, response: ResponseMessage) -> None:
        """End the stream with an error, where no ``execute`` will run for it."""
        self._executed = True
        self.finish(response)

    def _refuse(self) -> None:
        """Unwind ``execute`` itself, also where it is a coroutine of many."""
        execution = current_execution.get()
        if execution is not None and execution.inflight is self:
            self.root.check()
        super()._refuse()

    def _take(self, response: ResponseMessage) -> None:
        with self._lock:
            if self.final:
                return
            self.responses.append(response)
            self._record(response)
            self.final = response.final
            waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.wake()
        if response.final:
            self._complete()

    def _record(self, response: ResponseMessage) -> None:
        outputs = response.outputs if self._keep_values else ()
        assert self.call.responses is not None
        self.call.responses.append(
            ResponseEvent(time.monotonic_ns(), outputs, response.error or "")
        )

    def sent(self) -> tuple[int, bool]:
        """Return how many responses were sent, and whether the final flag was."""
        return len(self.responses), self.final

    def executed(self, request: weakref.ref[Any], where: str) -> None:
        """Note that ``execute`` has returned.

        Parameters
        ----------
        request
            The model's request object: when nothing holds it any more, nobody can
            send what is still owed.
        where
            Where ``execute`` stands, for a reader.
        """
        self._executed = True
        if not self.final:
            held = request()
            if held is None:
                self._dropped(where)
            else:
                self._watch = weakref.ref(held, lambda _: self._dropped(where))
                # Who waits already now counts on circles of references, too.
                for waiter in list(self._waiters):
                    waiter.wake()
        self._complete()

    def _dropped(self, where: str) -> None:
        """Let whoever reads on learn that nothing will come: nobody has to."""
        if not self.final:
            self._hang = hang.unanswered(self, where)
            # No lock: the collector may call this anywhere, also where it is held.
            for waiter in list(self._waiters):
                waiter.wake()

    def then(self, then: Callable[[], None]) -> None:
        """Call a function once: when ``execute`` has returned and the stream ended."""
        self._then = then

    def _complete(self) -> None:
        with self._lock:
            if not (self.final and self._executed):
                return
            then, self._then = self._then, None
        if then is not None:
            then()

    def cancel(self) -> None:
        """Say that the caller wants no more; the model may ask."""
        self.cancelled = True

    def get(self, number: int) -> ResponseMessage | None:
        """Return a response, waiting for it; None if the stream ends before it.

        Raises
        ------
        Unwind
            The whole request ended meanwhile, or ends with this wait.
        """
        while True:
            with self._lock:
                if number < len(self.responses):
                    return self.responses[number]
                if self.final:
                    return None
                waiter = Waiter()
                self._waiters.append(waiter)
            if self._hang is not None:
                self.root.end(self._hang)
                self.root.check()
            self._wait(waiter)

    def _wait(self, waiter: Waiter) -> None:
        __tracebackhide__ = True
        if self._executed and not self._collected:
            if waiter.wait(_COLLECT_AFTER_S):
                return
            self._collected = True
            # A request in a circle of references is held by nobody.
            gc.collect()
        self.root.wait(waiter, lambda s: hang.notice(self, s))
