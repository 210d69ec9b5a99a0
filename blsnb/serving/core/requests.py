"""Requests of network clients, run on a server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from blsnb.engine.request.open_requests import Begun
from blsnb.engine.request.reader import Reader
from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.errors import InferenceError, WouldHang
from blsnb.parts.server_parts import ServerParts
from blsnb.pb_utils.message import RequestMessage
from blsnb.serving.core.class_labels import ClassLabels
from blsnb.serving.core.request_rules import RequestRules, rules_of
from blsnb.serving.core.responses import ResponseConverter
from blsnb.serving.core.wire import WireInput, WireRequest, WireResponse
from blsnb.tensors.dtypes import BY_DATATYPE, DType
from blsnb.tensors.ref import TensorRef

STOPPING = (
    "Server is stopping, scheduler for model has stopped accepting new inference "
    "requests"
)
"""Triton's text for a request that arrives during shutdown."""
_INVALID = DType("TYPE_INVALID", "<invalid>", 0, None, 0)


class ResponseError(RequestError):
    """The response to an accepted request is an error."""


class Requests:
    """Runs the requests of network clients.

    Each is recorded like any other run, and displays nothing.

    Parameters
    ----------
    rules
        What is refused; None for what the followed release refuses.
    """

    def __init__(self, parts: ServerParts, rules: RequestRules | None = None) -> None:
        self._parts = parts
        self._rules = rules or rules_of(parts.engine.release)
        self._labels = ClassLabels(parts.engine.catalog, parts.repository)

    def served(self, model_name: str, version: int) -> Served:
        """Return the ready model that a request uses."""
        return self._parts.engine.catalog.find(model_name, version)

    def infer(self, request: WireRequest, begun: Begun | None = None) -> WireResponse:
        """Run a request on this thread, and return its only response.

        Parameters
        ----------
        begun
            Called with the request's life before it runs, so that another thread can
            cancel it: the model can check that, and continues, as on Triton.

        Raises
        ------
        RequestError
            The request was refused: Triton's code and text.
        ResponseError
            It was accepted, and failed.
        WouldHang
            Triton would never respond.
        ServerClosedError
            The server is closed.
        """
        responses = self._responses(request)
        answer = self._parts.requests.answer(self._message(request), begun)
        response = responses.of(answer.response)
        if response.error is not None:
            kind = RequestError if answer.refused else ResponseError
            raise kind(response.error, response.code)
        return response

    def open(self, request: WireRequest, begun: Begun | None = None) -> ResponseReader:
        """Start a request; a model that is not decoupled runs on this thread."""
        responses = self._responses(request)
        with _request_errors():
            reader = self._parts.readers.read(self._message(request), begun)
        return ResponseReader(reader, responses)

    def _message(self, request: WireRequest) -> RequestMessage:
        return message_of(request, self._rules)

    def _responses(self, request: WireRequest) -> ResponseConverter:
        served = self.served(request.model_name, request.fields.version)
        return ResponseConverter(self._labels, served, request, self._rules)


class ResponseReader:
    """Reads the responses to one request, one by one."""

    def __init__(self, reader: Reader, responses: ResponseConverter) -> None:
        self._reader = reader
        self._responses = responses

    def read(self) -> WireResponse | None:
        """Wait for the next response; None after the last one.

        An error is a response, too, and more may follow it.
        """
        with _request_errors():
            message = self._reader.read()
        return None if message is None else self._responses.of(message)

    def cancel(self) -> None:
        """Cancel the request, from any thread; the model can check that."""
        self._reader.cancel()


@contextlib.contextmanager
def _request_errors() -> Iterator[None]:
    try:
        yield
    except WouldHang:
        raise
    except InferenceError as error:
        raise RequestError(error.message, error.code) from error


def message_of(request: WireRequest, rules: RequestRules) -> RequestMessage:
    """Return a request as models receive it.

    It is marked as raw: the engine checks its bytes against its shapes.
    """
    message = RequestMessage(
        request.model_name,
        tuple(map(_ref, request.inputs)),
        rules.output_names(output.name for output in request.outputs),
        request.fields,
    )
    message.raw = True
    return message


def _ref(tensor: WireInput) -> TensorRef:
    dtype = BY_DATATYPE.get(tensor.datatype, _INVALID)
    return TensorRef(tensor.name, dtype, tensor.shape, tensor.data)
