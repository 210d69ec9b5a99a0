"""ResponseIterator: the responses of a decoupled BLS request, as they come."""

from __future__ import annotations

from blsnb.pb_utils.backend import Responses
from blsnb.pb_utils.compiled_type import Compiled
from blsnb.pb_utils.response import InferenceResponse, receive_response
from blsnb.pb_utils.signature import compiled, expect

_SELF = "self: c_python_backend_utils.ResponseIterator"
_DONE = "Iteration is done for the responses."


class ResponseIterator(Compiled):
    """Iterates over responses; they are kept, so that it can be done again.

    A loop that was left is resumed by the next one; after the last response a new
    loop begins with the first. Dropping the iterator cancels nothing.

    Parameters
    ----------
    arg0
        The only response.

    References
    ----------
    python_backend: src/response_iterator.cc
    """

    __slots__ = ("_done", "_kept", "_kind", "_next", "_responses")
    _responses: Responses | None
    _kind: type[InferenceResponse]

    @compiled(
        "c_python_backend_utils.ResponseIterator("
        "arg0: c_python_backend_utils.InferenceResponse)"
    )
    def __init__(self, response: InferenceResponse, /) -> None:
        expect(response, InferenceResponse)
        self._kept = [response]
        self._kind = InferenceResponse
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
            self._kept.append(receive_response(self._kind, message))
        self._next += 1
        return self._kept[self._next - 1]

    @compiled(f"cancel({_SELF}) -> None")
    def cancel(self) -> None:
        """Ask the model to stop; what it still sends can be read."""
        if self._responses is not None:
            self._responses.cancel()


def over(
    kind: type[ResponseIterator],
    response_kind: type[InferenceResponse],
    responses: Responses,
) -> ResponseIterator:
    """Return the iterator over responses that are still coming.

    Parameters
    ----------
    kind, response_kind
        The classes of the imitated release.
    """
    iterator: ResponseIterator = object.__new__(kind)
    iterator._kept = []
    iterator._kind = response_kind
    iterator._responses = responses
    iterator._next = 0
    iterator._done = False
    return iterator
