"""Arguments of a BLS request: checks, signatures, its trace and preferred memory."""

from __future__ import annotations

import json
from typing import Any

from blsnb.pb_utils.compiled.compiled_type import Compiled, no_constructor
from blsnb.pb_utils.compiled.enums import MemoryType
from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.compiled.signature import (
    INT64,
    NO_CAST,
    UINT64,
    compiled,
    expect,
    integer,
)
from blsnb.pb_utils.message import RequestMessage
from blsnb.tensors.memory import HOST, device_name

_GPU = MemoryType(0)


class InferenceTrace(Compiled):
    """Identifies a request; a BLS request with it becomes a child of that request.

    References
    ----------
    python_backend: src/infer_trace.h
    """

    __slots__ = ("_mark",)
    _mark: Any
    __init__ = no_constructor("InferenceTrace")

    @compiled("get_context(self: c_python_backend_utils.InferenceTrace) -> object")
    def get_context(self) -> str | None:
        """Return the OpenTelemetry context as JSON; None if none is collected."""
        context = None if self._mark is None else self._mark.context()
        return None if context is None else json.dumps(context, separators=(",", ":"))


def mark(caller: Any) -> InferenceTrace:
    """Return the trace object of a caller."""
    trace: InferenceTrace = object.__new__(InferenceTrace)
    trace._mark = caller
    return trace


NO_TRACE = mark(None)


class PreferredMemory(Compiled):
    """The preferred memory for the outputs of a BLS request.

    Parameters
    ----------
    preferred_memory_type
        ``TRITONSERVER_MEMORY_CPU`` or ``TRITONSERVER_MEMORY_GPU``.
    preferred_device_id
        Number of the device.

    References
    ----------
    python_backend: src/pb_preferred_memory.h
    """

    __slots__ = ("_device_id", "_memory_type")

    @compiled(
        "c_python_backend_utils.PreferredMemory(preferred_memory_type: "
        "triton::backend::python::PreferredMemory::MemoryType, "
        "preferred_device_id: int = 0)"
    )
    def __init__(
        self, preferred_memory_type: MemoryType, preferred_device_id: int = 0
    ) -> None:
        expect(preferred_memory_type, MemoryType)
        self._memory_type = preferred_memory_type
        self._device_id = integer(preferred_device_id, INT64)


ANY_MEMORY = PreferredMemory(MemoryType(1))
"""The default, for callers that accept outputs on any device."""


def wanted_device(memory: PreferredMemory) -> str | None:
    """Return the preferred device, such as ``"cpu"`` or ``"gpu:0"``; None for any."""
    if memory is ANY_MEMORY:
        return None
    on_gpu = memory._memory_type == _GPU
    return device_name(memory._device_id) if on_gpu else HOST


_CLASS = "c_python_backend_utils.InferenceRequest"
CONSTRUCTOR = (
    f"{_CLASS}(request_id: str = '', "
    "correlation_id: object = 0, inputs: List[triton::backend::python::PbTensor], "
    "requested_output_names: List[str], model_name: str, model_version: int = -1, "
    "flags: int = 0, timeout: int = 0, preferred_memory: "
    f"c_python_backend_utils.PreferredMemory = {ANY_MEMORY!r}, trace: "
    f"c_python_backend_utils.InferenceTrace = {NO_TRACE!r}, parameters: object = None)"
)
"""Signature of the constructor, as error texts show it."""


def method_signature(name: str, result: str, *parameters: str) -> str:
    """Return the signature of a method of requests, as error texts show it."""
    return f"{name}({', '.join((f'self: {_CLASS}', *parameters))}) -> {result}"


def checked_correlation_id(value: Any) -> int | str:
    """Return a correlation id.

    Raises
    ------
    TritonModelException
        It is neither a number nor a string.
    RuntimeError
        The number is out of range.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, int):
        raise TritonModelException("Correlation ID must be integer or string")
    if not UINT64[0] <= value <= UINT64[1]:
        raise RuntimeError(NO_CAST)
    return int(value)


def empty_element(message: RequestMessage, is_input: bool) -> TritonModelException:
    """Return the error of a list of inputs or names with an empty element."""
    what = "Input tensor" if is_input else "Requested output name"
    return TritonModelException(
        f"{what} for request with id '{message.fields.request_id}' and model name "
        f"'{message.model_name}' should not be empty."
    )
