"""The responses of one request, read for its client."""

from __future__ import annotations

from collections.abc import Callable

from blsnb.engine.request.lifetime import TOO_LATE, RootRequest, TooLate
from blsnb.engine.request.open_requests import OpenRequests, interruptible
from blsnb.engine.request.streaming import Left, Readable
from blsnb.engine.request.validation import RequestError
from blsnb.errors import InferenceError
from blsnb.pb_utils.message import ResponseMessage

_CANCELLED = ("Locally cancelled by application!", "CANCELLED")


class Reader:
    """Reads the responses of one request as gRPC's client does, one by one.

    Its deadline ends only the reading: the model continues and may check for it.

    Parameters
    ----------
    open_requests, root
        The requests in flight, and the lifetime of this one.
    responses
        The responses, in order.
    check_process
        Raises in a forked child, which has neither the model's threads nor the owners
        of its locks.
    """

    def __init__(
        self,
        open_requests: OpenRequests,
        root: RootRequest,
        responses: Readable,
        check_process: Callable[[], None],
    ) -> None:
        self.root = root
        self._check_process = check_process
        self._open_requests = open_requests
        self._responses = responses
        self._number = 0
        self._over = False
        self._why: tuple[str, str] | None = None
        """Text and code of the error after the client left."""

    def read(self) -> ResponseMessage | None:
        """Return the next response, waiting for it; None after the last one.

        Raises
        ------
        InferenceError
            The deadline has passed, or the client has cancelled.
        WouldHang
            Triton would never send another one.
        ServerClosedError
            The server was closed, or its process forked this one.
        """
        __tracebackhide__ = True
        self._check_process()
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
        message = None
        try:
            with interruptible(self.root, self._open_requests.close):
                message = self._responses.get(number, until_ns)
            self.root.raise_ended(has_response=message is not None)
        except BaseException:
            if self.root.ended is not None:
                self._open_requests.close(self.root)
            raise
        self._number += message is not None
        self._over = message is None
        return message

    def cancel(self) -> None:
        """Leave: the model continues, and its ``is_cancelled()`` becomes true.

        Takes no lock: the collector may call it anywhere.
        """
        if self._why is None and not self._over:
            self._leave(_CANCELLED)

    def _leave(self, why: tuple[str, str]) -> None:
        self._why = why
        self.root.cancel()
        self._responses.leave()
