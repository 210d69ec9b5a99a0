"""Reader: a client outside, which reads responses until it has all or leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blsnb.engine.root import RootRequest, TooLate, check_time
from blsnb.engine.streaming import Left, Readable
from blsnb.engine.validation import RequestError
from blsnb.engine.waiter import Waiter
from blsnb.errors import InferenceError
from blsnb.pb_utils.message import ResponseMessage

if TYPE_CHECKING:
    from blsnb.engine.engine import Engine

TOO_LATE = ("Deadline Exceeded", "DEADLINE_EXCEEDED")
"""What a client is told whose deadline has passed: gRPC's text and code."""
_CANCELLED = ("Locally cancelled by application!", "CANCELLED")


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


class Reader:
    """Reads the responses of one request as gRPC's client does, one by one.

    Its deadline ends the reading and nothing else: the model may ask, and goes on.

    Parameters
    ----------
    engine, root
        What runs the request, and its life.
    responses
        Where they come from.
    """

    def __init__(self, engine: Engine, root: RootRequest, responses: Readable) -> None:
        self.root = root
        self._engine = engine
        self._responses = responses
        self._number = 0
        self._over = False
        self._why: tuple[str, str] | None = None
        """Why the client left: text and code."""

    def read(self) -> ResponseMessage | None:
        """Return the next response, waiting for it; None after the last one.

        Raises
        ------
        InferenceError
            The deadline has passed, or the client has cancelled.
        WouldHang
            Triton would never send another one.
        """
        __tracebackhide__ = True
        if self._why is None and not self._over:
            try:
                return self._next()
            except TooLate:
                self._leave(TOO_LATE)
            except Left:
                pass
            except RequestError as error:
                raise InferenceError(
                    error.message, error.code, advice=error.advice
                ) from None
        if self._why is not None:
            raise InferenceError(*self._why)
        return None

    def _next(self) -> ResponseMessage | None:
        __tracebackhide__ = True
        number, until_ns = self._number, self.root.deadline_ns
        try:
            message = self._engine.interruptibly(
                self.root, lambda: self._responses.get(number, until_ns), started=True
            )
        except BaseException:
            if self.root.ended is not None:
                self._engine.close_root(self.root)
            raise
        self._number += message is not None
        self._over = message is None
        return message

    def cancel(self) -> None:
        """Leave: ``is_cancelled()`` turns true in the model, which goes on.

        Takes no lock: the collector may call it anywhere.
        """
        if self._why is None and not self._over:
            self._leave(_CANCELLED)

    def _leave(self, why: tuple[str, str]) -> None:
        self._why = why
        self.root.cancel()
        self._responses.leave()
