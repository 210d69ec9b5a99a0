"""PreferredMemory: where a BLS caller wants the outputs."""

from __future__ import annotations

from blsnb.pb_utils.compiled.compiled_type import Compiled
from blsnb.pb_utils.compiled.enums import MemoryType
from blsnb.pb_utils.compiled.signature import INT64, compiled, expect, integer
from blsnb.tensors.memory import HOST, device_name

GPU = MemoryType(0)


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


def place_of(memory: PreferredMemory) -> str:
    """Return the memory that is wanted, such as ``"cpu"`` or ``"gpu:0"``."""
    on_gpu = memory._memory_type == GPU
    return device_name(memory._device_id) if on_gpu else HOST
