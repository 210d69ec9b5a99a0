"""Requests that run on a worker thread, and their responses."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable

from blsnb.engine.request.inflight import Caller
from blsnb.engine.request.lifetime import TOO_LATE, RootRequest, TooLate, check_time
from blsnb.engine.request.streaming import Left
from blsnb.engine.request.validation import RequestError
from blsnb.engine.threads.waiter import Waiter
from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError
from blsnb.pb_utils.message import RequestMessage, ResponseMessage


def start_on_worker(
    workers: Workers, message: RequestMessage, caller: Caller, run: Callable[[], None]
) -> None:
    """Run a request on a worker thread.

    Only client requests get a share of the threads per model: a BLS request or a step
    of an ensemble must not wait for other clients.

    Raises
    ------
    RequestError
        No thread can start.
    """
    key = message.model_name if caller.parent is None else None
    work = functools.partial(contextvars.copy_context().run, run)
    try:
        workers.submit_for(key, work)
    except OutOfResourcesError as error:
        raise RequestError(error.message, error.code, error.advice) from error


class DeferredResponse:
    """The only response to a request on a worker thread.

    When the client leaves at its deadline, the model continues.
    """

    def __init__(self, root: RootRequest) -> None:
        self._root = root
        self._waiter = Waiter()
        self._left = False
        self._unwound = False
        self._response: ResponseMessage | RequestError | None = None

    def answer(self, response: ResponseMessage | RequestError) -> None:
        """Set the response, or the error of a refused request; wake the client."""
        self._response = response
        self._waiter.wake()

    def unwind(self) -> None:
        """Note the end of the client request, which woke the client."""
        self._unwound = True
        if self._left:
            self._root.end_abandoned()

    def get(self, number: int, until_ns: int = 0) -> ResponseMessage | None:
        """Return the response, which is number 0, waiting for it.

        Raises
        ------
        RequestError
            The request was refused.
        TooLate
            The deadline has passed.
        Left
            The client has left.
        """
        __tracebackhide__ = True
        if number:
            return None
        self._root.wait(self._waiter, until_ns=until_ns)
        if self._left:
            raise Left
        if isinstance(self._response, RequestError):
            raise self._response
        # The model may notice the deadline before the client wakes up.
        check_time(until_ns)
        return self._response

    def within(self, deadline_ns: int) -> ResponseMessage | None:
        """Wait for the response; at the deadline cancel the request and leave.

        Raises
        ------
        RequestError
            The request was refused.
        """
        __tracebackhide__ = True
        try:
            return self.get(0, deadline_ns)
        except TooLate:
            self._root.cancel()
            self.leave()
            text, code = TOO_LATE
            return ResponseMessage(error=text, code=code)

    def cancel(self) -> None:
        """Do nothing: the model sees the cancellation of the client request."""

    def leave(self) -> None:
        """Note that the client left."""
        self._left = True
        self._waiter.wake()
        if self._unwound:
            self._root.end_abandoned()
