"""A request that a model makes or receives."""

from __future__ import annotations

import asyncio
import functools
import operator
import weakref
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

from blsnb.pb_utils.backend import EngineCalls, Reply, Responses, UnboundBackend
from blsnb.pb_utils.compiled.compiled_type import Compiled
from blsnb.pb_utils.compiled.conversions import Mismatch
from blsnb.pb_utils.compiled.parameters import as_text, checked
from blsnb.pb_utils.compiled.releases import NEWEST
from blsnb.pb_utils.compiled.signature import (
    INT64,
    MISSING,
    UINT32,
    UINT64,
    compiled,
    expect,
    integer,
    list_of,
    string,
    truth,
)
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.pb_utils.older_releases import Classes, classes_of
from blsnb.pb_utils.request_values import (
    ANY_MEMORY,
    CONSTRUCTOR,
    NO_TRACE,
    InferenceTrace,
    PreferredMemory,
    checked_correlation_id,
    empty_element,
    mark,
    method_signature,
    wanted_device,
)
from blsnb.pb_utils.response import InferenceResponse, receive_response
from blsnb.pb_utils.response_iterator import ResponseIterator, over
from blsnb.pb_utils.sender import InferenceResponseSender, sender_of
from blsnb.pb_utils.tensor import Tensor, receive, receive_view, transmit
from blsnb.request_fields import PLAIN, RequestFields
from blsnb.tensors.ref import TensorRef

RELEASE_ALL = 1
RESCHEDULE = 2

_new = object.__new__
_OWN_IS_CANCELLED = (
    "is_cancelled() of a request that a model has made ends the server on Triton "
    "24.10. Call it on the request that execute() received."
)
_SHARED_REQUEST = (
    "async_exec() of one request was called again before it had ended, which ends the "
    "server on Triton 24.10. Make a request for each call."
)
_ELEMENTS = (Tensor, NoneType)
_NAMES = (str, bytes, bytearray)
_UNSET, _NEWEST, _NO_ID = 0, -1, ""


class InferenceRequest(Compiled):
    """A request: constructed to call another model, or received in ``execute``.

    Parameters
    ----------
    request_id
        Id that the response repeats; empty for none.
    correlation_id
        Sequence: an unsigned 64-bit number or a string; 0 for none.
    inputs
        `Tensor` objects, in a list or another sequence.
    requested_output_names
        Names in a sequence; an empty one means all outputs.
    model_name, model_version
        The target; version -1 leaves the choice to the server.
    flags
        Bits ``TRITONSERVER_REQUEST_FLAG_SEQUENCE_START`` and ``..._END``.
    timeout
        Microseconds in a queue; 0 for none.
    preferred_memory
        The device on which the outputs are wanted.
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
        "_inputs",
        "_message",
        "_release_flags",
        "_reply",
        "_requested",
        "_running",
        "_sender",
    )
    _message: RequestMessage
    """Its fields; the inputs are set when it is sent."""
    _backend: EngineCalls = UnboundBackend()
    _classes: Classes = classes_of(NEWEST)

    @compiled(CONSTRUCTOR)
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
        self._inputs: list[Tensor] = list_of(inputs, _ELEMENTS)
        requested = list_of(requested_output_names, _NAMES)
        expect(trace, InferenceTrace)
        model_name = string(model_name)
        # The defaults need no check, which saves 3.5 % of a call, see
        # docs/explanation/performance.md.
        usual = (
            flags is timeout is correlation_id is _UNSET
            and model_version is _NEWEST
            and request_id is _NO_ID
            and preferred_memory is ANY_MEMORY
            and parameters is None
        )
        if not usual:
            if correlation_id is None:
                raise Mismatch
            expect(preferred_memory, PreferredMemory)
            request_id = string(request_id)
            model_version = integer(model_version, INT64)
            flags, timeout = integer(flags, UINT32), integer(timeout, UINT64)
        if len(requested) == 1:
            # The usual case, which saves 2 % of a call, see the same page.
            self._requested: tuple[str, ...] = (string(requested[0]),)
        else:
            self._requested = tuple(dict.fromkeys(map(string, requested)))
        fields, memory = PLAIN, None
        if not usual:
            memory = wanted_device(preferred_memory)
            pairs = tuple(checked(parameters).items())
            fields = RequestFields(
                model_version,
                checked_correlation_id(correlation_id),
                flags,
                timeout,
                0,
                pairs,
                request_id,
            )
        self._message = RequestMessage(
            model_name, (), self._requested, fields, trace._mark, memory
        )
        if None in self._inputs or "" in self._requested:
            raise empty_element(self._message, None in self._inputs)
        self._reply: Reply | None = None
        self._release_flags = RELEASE_ALL
        self._sender: weakref.ref[InferenceResponseSender] | None = None

    @compiled(method_signature("inputs", "List[triton::backend::python::PbTensor]"))
    def inputs(self) -> list[Tensor]:
        """Return the inputs of the request: a new list of the same tensors."""
        return list(self._inputs)

    @compiled(method_signature("request_id", "str"))
    def request_id(self) -> str:
        """Return the identifier, or an empty string."""
        return self._message.fields.request_id

    @compiled(method_signature("correlation_id", "object"))
    def correlation_id(self) -> int | str:
        """Return the sequence's identifier; 0 without a sequence."""
        return self._message.fields.correlation_id

    @compiled(method_signature("flags", "int"))
    def flags(self) -> int:
        """Return the sequence flags."""
        return self._message.fields.flags

    @compiled(method_signature("set_flags", "None", "arg0: int"))
    def set_flags(self, flags: int, /) -> None:
        """Set the sequence flags."""
        # A copy, so that a request that was sent does not change.
        self._message = self._message.with_fields(flags=integer(flags, UINT32))

    @compiled(method_signature("timeout", "int"))
    def timeout(self) -> int:
        """Return the timeout in microseconds, as the caller gave it."""
        return self._message.fields.timeout_us

    @compiled(method_signature("parameters", "str"))
    def parameters(self) -> str:
        """Return the parameters as JSON text."""
        received = self._reply is not None
        return as_text(dict(self._message.fields.parameters), received)

    @compiled(method_signature("requested_output_names", "Set[str]"))
    def requested_output_names(self) -> set[str]:
        """Return the requested names; never empty for a received request."""
        return set(self._requested)

    @compiled(method_signature("trace", "c_python_backend_utils.InferenceTrace"))
    def trace(self) -> InferenceTrace:
        """Return the value with which BLS requests become children of this request."""
        if self._reply is None:
            return mark(self._message.trace)
        return mark(self._reply.trace())

    @compiled(method_signature("exec", "object", "decoupled: bool = False"))
    def exec(self, decoupled: bool = False) -> InferenceResponse | ResponseIterator:
        """Run this request on its model and wait for the response.

        Parameters
        ----------
        decoupled
            Accept any number of responses, and wait for the first. Required when
            the callee is decoupled.

        A model that is missing, not ready or failing does not raise: check
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
            return self._iterate(self._backend.exec_decoupled(self._sent()))
        return self._receive(self._backend.exec(self._sent()))

    @compiled(method_signature("async_exec", "object", "decoupled: bool = False"))
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
        last = getattr(self, "_running", None)
        if last is not None and (future := last()) is not None and not future.done():
            self._backend.note(_SHARED_REQUEST)
        future = self._backend.async_exec(self._sent(), answer, many)
        self._running = weakref.ref(future)
        return future

    def _receive(self, message: ResponseMessage) -> InferenceResponse:
        response = receive_response(self._classes.response, message)
        if message.error is not None:
            self._backend.note_error(response, self._message.model_name)
        return response

    def _iterate(self, responses: Responses) -> ResponseIterator:
        # The iterator must not reference the request.
        receive = functools.partial(
            _received, self._classes.response, self._backend, self._message.model_name
        )
        return over(self._classes.iterator, receive, responses)

    def _sent(self) -> RequestMessage:
        """Return the message to send, the same one each time, with the same tensors."""
        refs: tuple[TensorRef, ...] = ()
        for tensor in self._inputs:
            refs += (transmit(tensor),)
        message = self._message
        if self._reply is not None:
            return message.forwarded(refs, self._requested)
        message.inputs = refs
        return message

    @compiled(
        method_signature(
            "get_response_sender", "triton::backend::python::ResponseSender"
        )
    )
    def get_response_sender(self) -> InferenceResponseSender:
        """Return the sender of this request's responses; the same at every call."""
        # A weak reference to the sender, which references the request: the request
        # lives exactly as long as something may still respond to it.
        sender = None if self._sender is None else self._sender()
        if sender is None:
            sender = sender_of(self, self._reply, self._requested)
            self._sender = weakref.ref(sender)
        return sender

    @compiled(method_signature("is_cancelled", "bool"))
    def is_cancelled(self) -> bool:
        """Whether the caller cancelled the request; False if constructed."""
        if self._reply is None:
            self._backend.note(_OWN_IS_CANCELLED)
            return False
        return self._reply.is_cancelled()

    @compiled(method_signature("set_release_flags", "None", "arg0: int"))
    def set_release_flags(self, flags: int, /) -> None:
        """Set what happens to the request when ``execute`` returns."""
        self._release_flags = integer(flags, UINT32)


def _received(
    kind: type[InferenceResponse],
    backend: EngineCalls,
    model_name: str,
    message: ResponseMessage,
) -> InferenceResponse:
    """Return the model's response object; note an error that is never checked."""
    response = receive_response(kind, message)
    if message.error is not None:
        backend.note_error(response, model_name)
    return response


def receive_request(
    kind: type[InferenceRequest],
    message: RequestMessage,
    inputs: tuple[TensorRef, ...],
    requested: tuple[str, ...],
    reply: Reply,
    zero_copy: bool,
) -> InferenceRequest:
    """Return the request object for a model's ``execute``.

    Parameters
    ----------
    kind
        The receiving instance's own class.
    inputs
        Inputs as the model receives them.
    requested
        Names of the outputs to send; not empty if the model has outputs.
    zero_copy
        Whether ``as_numpy`` of the inputs returns read-only views instead of copies.
    """
    request: InferenceRequest = _new(kind)
    request._message = message
    make = receive_view if zero_copy else receive
    request._inputs = tensors = []
    for ref in inputs:
        tensors.append(make(ref))
    request._requested = requested
    request._reply = reply
    request._release_flags = RELEASE_ALL
    request._sender = None
    return request


def message_of(request: InferenceRequest) -> RequestMessage:
    """Return a received request as a plain value, with all its fields."""
    message = request._message
    refs = tuple(map(transmit, request._inputs))
    return RequestMessage(message.model_name, refs, request._requested, message.fields)


def unsent_message_of(request: InferenceRequest) -> RequestMessage:
    """Return the fields of a request, and freeze none of its inputs."""
    return request._message


release_flags: Callable[[InferenceRequest], int] = operator.attrgetter("_release_flags")
"""Returns the release flags that the model set."""
