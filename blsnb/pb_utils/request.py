"""InferenceRequest: a question to a model, made by one or received by one."""

from __future__ import annotations

import asyncio
import functools
import weakref
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

from blsnb.pb_utils.backend import Backend, Outside, Reply, Responses
from blsnb.pb_utils.compiled_type import Compiled
from blsnb.pb_utils.enums import MemoryType
from blsnb.pb_utils.errors import TritonModelException
from blsnb.pb_utils.inference_trace import NO_TRACE, InferenceTrace, mark
from blsnb.pb_utils.iterator import ResponseIterator, over
from blsnb.pb_utils.memory import PreferredMemory, place_of
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.pb_utils.older import Classes, classes_of
from blsnb.pb_utils.parameters import as_text, checked
from blsnb.pb_utils.releases import NEWEST
from blsnb.pb_utils.response import InferenceResponse, receive_response
from blsnb.pb_utils.sender import InferenceResponseSender, sender_of
from blsnb.pb_utils.signature import (
    INT64,
    MISSING,
    UINT32,
    UINT64,
    Mismatch,
    compiled,
    expect,
    integer,
    list_of,
    string,
    truth,
)
from blsnb.pb_utils.tensor import Tensor, receive, receive_view, transmit
from blsnb.tensors.ref import TensorRef

RELEASE_ALL = 1
RESCHEDULE = 2
_UNCASTABLE = (
    "Unable to cast Python instance to C++ type (#define "
    "PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
)


_SELF = "self: c_python_backend_utils.InferenceRequest"


def _method(name: str, result: str, *parameters: str) -> str:
    return f"{name}({', '.join((_SELF, *parameters))}) -> {result}"


ANY_MEMORY = PreferredMemory(MemoryType(1))
_CONSTRUCTOR = (
    "c_python_backend_utils.InferenceRequest(request_id: str = '', "
    "correlation_id: object = 0, inputs: List[triton::backend::python::PbTensor], "
    "requested_output_names: List[str], model_name: str, model_version: int = -1, "
    "flags: int = 0, timeout: int = 0, preferred_memory: "
    f"c_python_backend_utils.PreferredMemory = {ANY_MEMORY!r}, trace: "
    f"c_python_backend_utils.InferenceTrace = {NO_TRACE!r}, parameters: object = None)"
)


class InferenceRequest(Compiled):
    """A request: constructed to ask another model, or received in ``execute``.

    Parameters
    ----------
    request_id
        Given back by the server; empty for none.
    correlation_id
        Sequence: an unsigned 64-bit number or a string; 0 for none.
    inputs
        List or tuple of `Tensor`.
    requested_output_names
        List or tuple of names; an empty one means all outputs.
    model_name, model_version
        The target; version -1 leaves the choice to the server.
    flags
        Bits ``TRITONSERVER_REQUEST_FLAG_SEQUENCE_START`` and ``..._END``.
    timeout
        Microseconds in a queue; 0 for none.
    preferred_memory
        Where the outputs are wanted.
    trace
        ``request.trace()`` of the request that this one serves.
    parameters
        Dict of str to bool, int or str.

    Raises
    ------
    TypeError
        An argument is missing or of another type.
    TritonModelException
        A list holds None or an empty name, or the parameters are not plain.

    References
    ----------
    python_backend: src/infer_request.cc, InferRequest::InferRequest
    """

    __slots__ = (
        "_correlation_id",
        "_flags",
        "_inputs",
        "_memory",
        "_model_name",
        "_model_version",
        "_parameters",
        "_release_flags",
        "_reply",
        "_request_id",
        "_requested",
        "_sender",
        "_timeout",
        "_trace",
    )
    _backend: Backend = Outside()
    _classes: Classes = classes_of(NEWEST)

    @compiled(_CONSTRUCTOR)
    def __init__(
        self,
        request_id: str = "",
        correlation_id: int | str = 0,
        inputs: Sequence[Tensor] = MISSING,
        requested_output_names: Sequence[str] = MISSING,
        model_name: str = MISSING,
        model_version: int = -1,
        flags: int = 0,
        timeout: int = 0,
        preferred_memory: PreferredMemory = ANY_MEMORY,
        trace: InferenceTrace = NO_TRACE,
        parameters: dict[str, bool | int | str] | None = None,
    ) -> None:
        if correlation_id is None:
            raise Mismatch
        expect(preferred_memory, PreferredMemory)
        expect(trace, InferenceTrace)
        self._request_id = string(request_id)
        self._model_name = string(model_name)
        self._model_version = integer(model_version, INT64)
        self._flags = integer(flags, UINT32)
        self._timeout = integer(timeout, UINT64)
        self._inputs: list[Tensor] = list_of(inputs, (Tensor, NoneType))
        requested = list_of(requested_output_names, (str, bytes))
        self._trace = trace._mark
        wanted = preferred_memory
        self._memory = None if wanted is ANY_MEMORY else place_of(wanted)
        self._requested = tuple(dict.fromkeys(map(string, requested)))
        self._correlation_id = _correlation_id(correlation_id)
        self._parameters = checked(parameters)
        self._check_elements(requested)
        self._reply: Reply | None = None
        self._release_flags = RELEASE_ALL
        self._sender: weakref.ref[InferenceResponseSender] | None = None

    def _check_elements(self, requested: list[Any]) -> None:
        whose = (
            f"for request with id '{self._request_id}' and model name "
            f"'{self._model_name}' should not be empty."
        )
        if None in self._inputs:
            raise TritonModelException(f"Input tensor {whose}")
        if any(not name for name in requested):
            raise TritonModelException(f"Requested output name {whose}")

    @compiled(_method("inputs", "List[triton::backend::python::PbTensor]"))
    def inputs(self) -> list[Tensor]:
        """Return the inputs that were supplied: a new list of the same tensors."""
        return list(self._inputs)

    @compiled(_method("request_id", "str"))
    def request_id(self) -> str:
        """Return the identifier; empty if there is none."""
        return self._request_id

    @compiled(_method("correlation_id", "object"))
    def correlation_id(self) -> int | str:
        """Return the sequence's identifier; 0 if there is none."""
        return self._correlation_id

    @compiled(_method("flags", "int"))
    def flags(self) -> int:
        """Return the sequence flags."""
        return self._flags

    @compiled(_method("set_flags", "None", "arg0: int"))
    def set_flags(self, flags: int, /) -> None:
        """Set the sequence flags."""
        self._flags = integer(flags, UINT32)

    @compiled(_method("timeout", "int"))
    def timeout(self) -> int:
        """Return the timeout in microseconds, as the caller gave it."""
        return self._timeout

    @compiled(_method("parameters", "str"))
    def parameters(self) -> str:
        """Return the parameters as JSON text."""
        return as_text(self._parameters, received=self._reply is not None)

    @compiled(_method("requested_output_names", "Set[str]"))
    def requested_output_names(self) -> set[str]:
        """Return the requested names; of a received request never empty."""
        return set(self._requested)

    @compiled(_method("trace", "c_python_backend_utils.InferenceTrace"))
    def trace(self) -> InferenceTrace:
        """Return the request's mark, for the BLS requests that serve it."""
        return mark(self._trace if self._reply is None else self._reply.trace())

    @compiled(_method("exec", "object", "decoupled: bool = False"))
    def exec(self, decoupled: bool = False) -> InferenceResponse | ResponseIterator:
        """Run this request on its model and wait for the answer.

        Parameters
        ----------
        decoupled
            Accept any number of responses, and wait for the first. Required when
            the callee is decoupled.

        A model that is missing, not ready or failing is not raised: see
        ``has_error``.

        Raises
        ------
        TritonModelException
            No ``execute`` of the instance has begun yet, or it was finalized.

        References
        ----------
        python_backend: src/infer_request.cc, InferRequest::Exec
        """
        if decoupled is not False and truth(decoupled):
            return self._iterate(self._backend.exec_decoupled(self._message()))
        return self._receive(self._backend.exec(self._message()))

    @compiled(_method("async_exec", "object", "decoupled: bool = False"))
    def async_exec(
        self, decoupled: bool = False
    ) -> asyncio.Future[InferenceResponse | ResponseIterator]:
        """Run this request in the background; await the result for its response.

        Raises
        ------
        RuntimeError
            No event loop is running in this thread.

        References
        ----------
        python_backend: src/pb_stub.cc, PYBIND11_EMBEDDED_MODULE, async_exec
        """
        many = decoupled is not False and truth(decoupled)
        answer: Callable[[Any], Any] = self._iterate if many else self._receive
        return self._backend.async_exec(self._message(), answer, many)

    def _receive(self, message: ResponseMessage) -> InferenceResponse:
        return _received(
            self._classes.response, self._backend, self._model_name, message
        )

    def _iterate(self, responses: Responses) -> ResponseIterator:
        # The iterator does not hold the request.
        receive = functools.partial(
            _received, self._classes.response, self._backend, self._model_name
        )
        return over(self._classes.iterator, receive, responses)

    def _message(self) -> RequestMessage:
        return RequestMessage(
            self._model_name,
            tuple(map(transmit, self._inputs)),
            self._requested,
            self._model_version,
            self._request_id,
            self._correlation_id,
            self._flags,
            self._timeout,
            0,
            self._parameters,
            self._trace,
            self._memory,
        )

    @compiled(_method("get_response_sender", "triton::backend::python::ResponseSender"))
    def get_response_sender(self) -> InferenceResponseSender:
        """Return the sender of this request's responses; the same at every call."""
        # Held weakly, and holding the request: so that the request lives exactly
        # as long as something may still answer it.
        sender = None if self._sender is None else self._sender()
        if sender is None:
            sender = sender_of(self, self._reply, self._requested)
            self._sender = weakref.ref(sender)
        return sender

    @compiled(_method("is_cancelled", "bool"))
    def is_cancelled(self) -> bool:
        """Whether the caller no longer wants the answer; False if constructed."""
        return self._reply is not None and self._reply.is_cancelled()

    @compiled(_method("set_release_flags", "None", "arg0: int"))
    def set_release_flags(self, flags: int, /) -> None:
        """Set what becomes of the request when ``execute`` returns."""
        self._release_flags = integer(flags, UINT32)


def _received(
    kind: type[InferenceResponse],
    backend: Backend,
    model_name: str,
    message: ResponseMessage,
) -> InferenceResponse:
    """Return a response as the model gets it; an error is to be asked for."""
    response = receive_response(kind, message)
    if message.error is not None:
        backend.watch(response, model_name)
    return response


def _correlation_id(value: Any) -> int | str:
    if isinstance(value, str):
        return value
    if not isinstance(value, int):
        raise TritonModelException("Correlation ID must be integer or string")
    if not UINT64[0] <= value <= UINT64[1]:
        raise RuntimeError(_UNCASTABLE)
    return int(value)


def receive_request(
    kind: type[InferenceRequest],
    message: RequestMessage,
    inputs: tuple[TensorRef, ...],
    requested: tuple[str, ...],
    reply: Reply,
    zero_copy: bool = False,
) -> InferenceRequest:
    """Return the request object that a model's ``execute`` gets.

    Parameters
    ----------
    kind
        The receiving instance's own class.
    inputs
        As the model sees them.
    requested
        Names of the outputs to send, never empty where the model has outputs.
    zero_copy
        Let the inputs' ``as_numpy`` give read-only views, not copies.
    """
    request: InferenceRequest = object.__new__(kind)
    request._request_id = message.request_id
    request._correlation_id = message.correlation_id
    request._inputs = list(map(receive_view if zero_copy else receive, inputs))
    request._requested = requested
    request._model_name = message.model_name
    request._model_version = message.model_version
    request._flags = message.flags
    request._timeout = message.timeout_us
    request._parameters = message.parameters
    request._trace = request._memory = None
    request._reply = reply
    request._release_flags = RELEASE_ALL
    request._sender = None
    return request


def message_of(request: InferenceRequest) -> RequestMessage:
    """Return a received request as a plain value."""
    return request._message()


def release_flags(request: InferenceRequest) -> int:
    """Return what a model said is to become of a request."""
    return request._release_flags
