"""Apart: the answer of a request that runs on a thread of its own."""

from __future__ import annotations

from blsnb.engine.request.lifetime import RootRequest, check_time
from blsnb.engine.request.streaming import Left
from blsnb.engine.request.validation import RequestError
from blsnb.engine.threads.waiter import Waiter
from blsnb.pb_utils.message import ResponseMessage


class Apart:
    """The only answer of a request that runs on a thread of its own.

    So its client can leave while the model goes on.
    """

    def __init__(self, root: RootRequest) -> None:
        self._root = root
        self._waiter = Waiter()
        self._left = False
        self._unwound = False
        self._response: ResponseMessage | None = None
        self._refusal: RequestError | None = None

    def answer(self, response: ResponseMessage) -> None:
        """Give the answer to whoever waits for it."""
        self._response = response
        self._waiter.wake()

    def refuse(self, error: RequestError) -> None:
        """Say that no model will see the request."""
        self._refusal = error
        self._waiter.wake()

    def unwind(self) -> None:
        """Note that the whole request has ended: who waits learns it from there."""
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
            It is time to leave.
        Left
            The reader has left meanwhile.
        """
        __tracebackhide__ = True
        if number:
            return None
        self._root.wait(self._waiter, until_ns=until_ns)
        if self._left:
            raise Left
        if self._refusal is not None:
            raise self._refusal
        # A model may know of the deadline before its client wakes up.
        check_time(until_ns)
        return self._response

    def cancel(self) -> None:
        """Do nothing: only what the whole request is asked for reaches the model."""

    def leave(self) -> None:
        """Note that nobody reads any more."""
        self._left = True
        self._waiter.wake()
        if self._unwound:
            self._root.lose()
