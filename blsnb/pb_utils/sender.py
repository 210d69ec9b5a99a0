"""Responses of a request that its model sends, also after ``execute``."""

from __future__ import annotations

from blsnb.pb_utils import response as responses
from blsnb.pb_utils.backend import CurrentBackend, Reply
from blsnb.pb_utils.compiled.compiled_type import Compiled, no_constructor
from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.compiled.signature import UINT32, compiled, expect, integer
from blsnb.pb_utils.logger import server_event
from blsnb.pb_utils.response import InferenceResponse

FINAL = 1
"""The flag that marks the last response, or follows it."""
_LATE_IS_CANCELLED = (
    "is_cancelled() of a response sender after the final flag may end the server on "
    "Triton 24.10. Call it before the flag is sent."
)
_LATE_SEND = (
    "send() after the final flag may end the server on Triton 24.10, also if its "
    "exception is caught. Send nothing after the flag."
)


def _refused(reason: str) -> TritonModelException:
    text = f"Unable to send response. {reason}"
    server_event("W", "%s", text)
    return TritonModelException(text)


def _check_single(given: bool, count: int) -> None:
    """Refuse a second response, and a final flag before the first response."""
    if given and count:
        raise _refused("Non-decoupled model cannot send more than one response.")
    if not given and not count:
        raise _refused(
            "Non-decoupled model cannot send complete final before sending a response."
        )


class InferenceResponseSender(Compiled):
    """Sends the responses of one received request, which returns it.

    A model that is not decoupled may send one response, and must send the final
    flag with it or after it.

    References
    ----------
    python_backend: src/response_sender.cc, ResponseSender::Send
    """

    __slots__ = ("_reply", "_request", "_requested")
    _reply: Reply | None
    _request: object
    _requested: tuple[str, ...]
    __init__ = no_constructor("InferenceResponseSender")

    @compiled(
        "send(self: c_python_backend_utils.InferenceResponseSender, "
        "response: c_python_backend_utils.InferenceResponse = None, "
        "flags: int = 0) -> None"
    )
    def send(self, response: InferenceResponse | None = None, flags: int = 0) -> None:
        """Send a response, the final flag, or both.

        Raises
        ------
        TritonModelException
            The flag is invalid, there is nothing to send, or the final flag was sent.
        """
        if response is not None:
            expect(response, InferenceResponse)
        flags = integer(flags, UINT32)
        reply = self._check(response, flags)
        message = None
        if response is not None:
            message = responses.send(response, self._requested)
        reply.send(message, final=flags == FINAL)

    def _check(self, response: InferenceResponse | None, flags: int) -> Reply:
        """Raise Triton's errors, in its order."""
        if flags not in (0, FINAL):
            raise _refused("Unsupported flag provided.")
        if flags == 0 and response is None:
            raise TritonModelException(
                "Inference Response object must be provided when the response flags "
                "is set to zero."
            )
        if self._reply is None:
            raise _refused(
                "Response sender has no reference to the decoupled state of the model."
            )
        count, closed = self._reply.sent()
        if closed:
            CurrentBackend().note(_LATE_SEND)
        if not self._reply.decoupled:
            _check_single(response is not None, count)
        if closed:
            raise _refused("Response sender has been closed.")
        return self._reply

    @compiled(
        "is_cancelled(self: c_python_backend_utils.InferenceResponseSender) -> bool"
    )
    def is_cancelled(self) -> bool:
        """Whether the client has cancelled the request."""
        if self._reply is None:
            return False
        if self._reply.sent()[1]:
            CurrentBackend().note(_LATE_IS_CANCELLED)
        return self._reply.is_cancelled()


def sender_of(
    request: object, reply: Reply | None, requested: tuple[str, ...]
) -> InferenceResponseSender:
    """Return the sender of a request; the sender keeps the request alive."""
    sender: InferenceResponseSender = object.__new__(InferenceResponseSender)
    sender._request = request
    sender._reply = reply
    sender._requested = requested
    return sender
