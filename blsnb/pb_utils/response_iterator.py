"""The responses of a decoupled BLS request."""

from __future__ import annotations

from collections.abc import Callable

from blsnb.pb_utils.backend import Responses
from blsnb.pb_utils.compiled.compiled_type import Compiled
from blsnb.pb_utils.compiled.signature import compiled, expect
from blsnb.pb_utils.message import ResponseMessage
from blsnb.pb_utils.response import InferenceResponse

_SELF = "self: c_python_backend_utils.ResponseIterator"
_DONE = "Iteration is done for the responses."


class ResponseIterator(Compiled):
    """Iterates over responses, which are kept for further iterations.

    The next loop continues after a loop that was left, and begins anew after the last
    response. Dropping the iterator does not cancel the request.

    Parameters
    ----------
    arg0
        The only response.

    References
    ----------
    python_backend: src/response_iterator.cc
    """

    __slots__ = ("_done", "_kept", "_next", "_receive", "_responses")
    _responses: Responses | None
    _receive: Callable[[ResponseMessage], InferenceResponse]

    @compiled(
        "c_python_backend_utils.ResponseIterator("
        "arg0: c_python_backend_utils.InferenceResponse)"
    )
    def __init__(self, response: InferenceResponse, /) -> None:
        expect(response, InferenceResponse)
        self._kept = [response]
        self._responses = None
        self._next = 0
        self._done = False

    @compiled(f"__iter__({_SELF}) -> c_python_backend_utils.ResponseIterator")
    def __iter__(self) -> ResponseIterator:
        if self._done:
            self._next = 0
            self._done = False
        return self

    @compiled(f"__next__({_SELF}) -> c_python_backend_utils.InferenceResponse")
    def __next__(self) -> InferenceResponse:
        if self._next == len(self._kept):
            message = None
            if self._responses is not None:
                message = self._responses.get(self._next)
            if message is None:
                self._done = True
                raise StopIteration(_DONE)
            self._kept.append(self._receive(message))
        self._next += 1
        return self._kept[self._next - 1]

    @compiled(f"cancel({_SELF}) -> None")
    def cancel(self) -> None:
        """Ask the model to stop; its further responses can still be read."""
        if self._responses is not None:
            self._responses.cancel()


def over(
    kind: type[ResponseIterator],
    receive: Callable[[ResponseMessage], InferenceResponse],
    responses: Responses,
) -> ResponseIterator:
    """Return an iterator over the responses of a request in flight.

    Parameters
    ----------
    kind
        Class of the followed release.
    receive
        Makes the model's response object.
    """
    iterator: ResponseIterator = object.__new__(kind)
    iterator._kept = []
    iterator._receive = receive
    iterator._responses = responses
    iterator._next = 0
    iterator._done = False
    return iterator
