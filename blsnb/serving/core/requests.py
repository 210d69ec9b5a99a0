"""Requests: what network clients ask, run on a server as any request from outside."""

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
from blsnb.serving.core.responses import Responses
from blsnb.serving.core.wire import WireInput, WireRequest, WireResponse
from blsnb.tensors.dtypes import BY_DATATYPE, DType
from blsnb.tensors.ref import TensorRef

STOPPING = (
    "Server is stopping, scheduler for model has stopped accepting new inference "
    "requests"
)
"""What Triton says of a request that comes too late."""
_NO_DATATYPE = DType("TYPE_INVALID", "<invalid>", 0, None, 0)


class Requests:
    """Runs the requests of network clients; both end points share it.

    Each is a run of the server as any other, recorded under its id. Nothing is shown:
    its answer belongs to a client.

    Parameters
    ----------
    server
        Where the models are.
    """

    def __init__(self, server: ServerParts) -> None:
        self._server = server
        self._labels = ClassLabels(server.engine.catalog, server.repository)

    def served(self, model_name: str, version: int) -> Served:
        """Return what would answer a request.

        Its ``decoupled`` says whether `stream` must be used.

        Parameters
        ----------
        version
            -1 leaves the choice to the server.

        Raises
        ------
        RequestError
            Nothing serves; the text is Triton's.
        """
        return self._server.engine.catalog.find(model_name, version)

    def infer(self, request: WireRequest, begun: Begun | None = None) -> WireResponse:
        """Run a request on this thread, and return its only response.

        Parameters
        ----------
        begun
            Told of the request's life before it runs, so that another thread can say
            ``root.cancel()``: the model may ask, and goes on, as on Triton.

        Raises
        ------
        RequestError
            It was refused, or failed: Triton's code and text.
        WouldHang
            Triton would never answer.
        ServerClosedError
            There is no server any more.
        """
        responses = self._responses(request)
        answer = self._server.requests.answer(message_of(request), begun).response
        response = responses.of(answer)
        if response.error is not None:
            raise RequestError(response.error, response.code)
        return response

    def stream(
        self, request: WireRequest, begun: Begun | None = None
    ) -> Iterator[WireResponse]:
        """Run a request on any model, and yield its responses as they come.

        An error is a response, too; more may follow. Closing the iterator cancels
        the request. A model that is not decoupled runs on this thread.

        Raises
        ------
        RequestError
            It was refused.
        WouldHang
            Triton would never answer.
        ServerClosedError
            There is no server any more.
        """
        answers = self.open(request, begun)
        try:
            while (response := answers.read()) is not None:
                yield response
        finally:
            answers.cancel()

    def open(self, request: WireRequest, begun: Begun | None = None) -> Answers:
        """Start a request on any model; as `stream`, for one who reads and cancels.

        Raises
        ------
        RequestError
            It was refused.
        WouldHang
            Triton would never answer.
        ServerClosedError
            There is no server any more.
        """
        responses = self._responses(request)
        with _told():
            reader = self._server.requests.read(message_of(request), begun)
        return Answers(reader, responses)

    def _responses(self, request: WireRequest) -> Responses:
        served = self.served(request.model_name, request.fields.version)
        return Responses(self._labels, served, request)


class Answers:
    """The responses to one request, read one by one.

    Parameters
    ----------
    reader
        Reads what the model sends.
    responses
        Makes of it what the client is sent.
    """

    def __init__(self, reader: Reader, responses: Responses) -> None:
        self._reader = reader
        self._responses = responses

    def read(self) -> WireResponse | None:
        """Return the next response, waiting for it; None after the last one.

        Raises
        ------
        RequestError
            It was refused after all, or cancelled.
        WouldHang
            Triton would never send another one.
        """
        with _told():
            message = self._reader.read()
        return None if message is None else self._responses.of(message)

    def cancel(self) -> None:
        """Say that no more are wanted, from any thread; nothing once all are read.

        The model may ask, and goes on.
        """
        self._reader.cancel()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Turn what went wrong into what a client is told."""
    try:
        yield
    except WouldHang:
        raise
    except InferenceError as error:
        raise RequestError(error.message, error.code) from error


def message_of(request: WireRequest) -> RequestMessage:
    """Return a request as models see it; its bytes are checked against its shapes."""
    message = RequestMessage(
        request.model_name,
        tuple(map(_ref, request.inputs)),
        tuple(dict.fromkeys(output.name for output in request.outputs)),
        request.fields,
    )
    message.raw = True
    return message


def _ref(tensor: WireInput) -> TensorRef:
    dtype = BY_DATATYPE.get(tensor.datatype, _NO_DATATYPE)
    return TensorRef(tensor.name, dtype, tensor.shape, tensor.data)
