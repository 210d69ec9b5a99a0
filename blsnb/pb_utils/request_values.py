"""Values that a BLS request takes: its parent's trace, and where outputs should be."""

from __future__ import annotations

from typing import Any

from blsnb.pb_utils.compiled.compiled_type import Compiled, no_constructor
from blsnb.pb_utils.compiled.enums import MemoryType
from blsnb.pb_utils.compiled.signature import INT64, compiled, expect, integer
from blsnb.tensors.memory import HOST, device_name

_GPU = MemoryType(0)


class InferenceTrace(Compiled):
    """The mark of a request; a BLS request that has it becomes a child of it.

    References
    ----------
    python_backend: src/infer_trace.h
    """

    __slots__ = ("_mark",)
    _mark: Any
    __init__ = no_constructor("InferenceTrace")

    @compiled("get_context(self: c_python_backend_utils.InferenceTrace) -> object")
    def get_context(self) -> str | None:
        """Return the OpenTelemetry context; None, since none is collected."""
        return None


def mark(caller: Any) -> InferenceTrace:
    """Return the trace object of a caller."""
    trace: InferenceTrace = object.__new__(InferenceTrace)
    trace._mark = caller
    return trace


NO_TRACE = mark(None)


class PreferredMemory(Compiled):
    """Where the outputs of a BLS request should be placed.

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


def device_of(memory: PreferredMemory) -> str:
    """Return the preferred memory, such as ``"cpu"`` or ``"gpu:0"``."""
    on_gpu = memory._memory_type == _GPU
    return device_name(memory._device_id) if on_gpu else HOST
