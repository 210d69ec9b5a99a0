"""DeviceRef: a tensor's frozen value in the memory of a device."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from blsnb.tensors.dtypes import BF16, DType, Shape
from blsnb.tensors.memory import HOST, Memory
from blsnb.tensors.ref import TensorRef


class DeviceRef(TensorRef):
    """A frozen value that is on a device, and stays there until the host needs it.

    Nobody else writes to its memory. Who asks for ``data`` or ``view()`` gets a copy
    on the host.

    Parameters
    ----------
    memory
        The elements.
    """

    __slots__ = ("_on_host", "memory")

    def __init__(self, name: str, dtype: DType, shape: Shape, memory: Memory) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.device = memory.device
        self.byte_size = memory.nbytes
        self.memory = memory
        self._on_host: Callable[[], memoryview | None] = _nowhere

    @property
    def data(self) -> memoryview:  # type: ignore[override]
        """A copy of the elements on the host; one for all who hold it meanwhile."""
        held = self._on_host()
        if held is None:
            held = self.memory.host()
            self._on_host = weakref.ref(held)
        return held

    @property
    def evicted(self) -> bool:
        """Whether the value is gone: never, its description would be a TensorRef."""
        return False

    @property
    def value_id(self) -> int:
        """A number that tensors share if their values are in the same memory."""
        return id(self.memory.array)

    def seen_as(self, name: str, shape: Shape) -> TensorRef:
        """Return the same value by another name, or in another shape."""
        memory = self.memory
        same = memory if shape == self.shape else memory.shaped(shape)
        return DeviceRef(name, self.dtype, shape, same)

    def taking(self, work: Callable[[Any], Any]) -> Any:
        """Return what a function makes of the elements, done on the device."""
        return self.memory.compute(lambda xp, array: work(self._widened(xp, array)))

    def computing(self, work: Callable[[Any, Any], Any]) -> Any:
        """Return the same of a function that takes the device's library, too."""
        return self.memory.compute(lambda xp, array: work(xp, self._widened(xp, array)))

    def _widened(self, xp: Any, array: Any) -> Any:
        """Return BF16 as float32, as the view on the host has it."""
        if self.dtype is not BF16:
            return array
        return (array.astype(xp.uint32) << np.uint32(16)).view(xp.float32)


def on_host(ref: TensorRef) -> TensorRef:
    """Return the same value in the host's memory.

    What a file holds is there already, wherever the tensor once was.
    """
    if ref.device == HOST:
        return ref
    return TensorRef(ref.name, ref.dtype, ref.shape, ref.data)


def _nowhere() -> memoryview | None:
    return None
