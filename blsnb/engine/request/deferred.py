"""The response to a client request that runs on a worker thread."""

from __future__ import annotations

from blsnb.engine.request.lifetime import RootRequest, check_time
from blsnb.engine.request.streaming import Left
from blsnb.engine.request.validation import RequestError
from blsnb.engine.threads.waiter import Waiter
from blsnb.pb_utils.message import ResponseMessage


class DeferredResponse:
    """The only response to a request on a worker thread.

    Its client can leave at its deadline, and the model goes on.
    """

    def __init__(self, root: RootRequest) -> None:
        self._root = root
        self._waiter = Waiter()
        self._left = False
        self._unwound = False
        self._response: ResponseMessage | None = None
        self._refusal: RequestError | None = None

    def answer(self, response: ResponseMessage) -> None:
        """Set the response, and wake the client."""
        self._response = response
        self._waiter.wake()

    def refuse(self, error: RequestError) -> None:
        """Set the refusal of the request, and wake the client."""
        self._refusal = error
        self._waiter.wake()

    def unwind(self) -> None:
        """Note that the client request has ended; its life has woken the client."""
        self._unwound = True
        if self._left:
            self._root.lose()

    def get(self, number: int, until_ns: int = 0) -> ResponseMessage | None:
        """Return the response, which is number 0, waiting for it.

        Raises
        ------
        RequestError
            The request was refused.
        TooLate
            The deadline has passed.
        Left
            The client left meanwhile.
        """
        __tracebackhide__ = True
        if number:
            return None
        self._root.wait(self._waiter, until_ns=until_ns)
        if self._left:
            raise Left
        if self._refusal is not None:
            raise self._refusal
        # The model may see the deadline before its client wakes up.
        check_time(until_ns)
        return self._response

    def cancel(self) -> None:
        """Do nothing: the model sees the cancellation of the client request."""

    def leave(self) -> None:
        """Note that the client left."""
        self._left = True
        self._waiter.wake()
        if self._unwound:
            self._root.lose()
