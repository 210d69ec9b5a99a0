"""A tensor's frozen value in the memory of a device."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from blsnb.tensors.dtypes import BF16, DType, Shape
from blsnb.tensors.memory import HOST, Memory
from blsnb.tensors.ref import TensorRef


class DeviceRef(TensorRef):
    """A frozen value that stays on a device until the host needs it.

    Nothing else writes to its memory. ``data`` and ``view()`` are copies on the host.

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
        self._on_host: Callable[[], memoryview | None] = lambda: None

    @property
    def data(self) -> memoryview | None:  # type: ignore[override]
        """A copy of the elements on the host, shared while anyone references it.

        None if the device no longer answers.
        """
        held = self._on_host()
        if held is None and self.memory.lost:
            return None
        if held is None:
            held = self.memory.host()
            self._on_host = weakref.ref(held)
        return held

    @property
    def evicted(self) -> bool:
        """Whether the device no longer answers; otherwise its value is there."""
        return self.memory.lost

    @property
    def fate(self) -> str:
        """Why the value is missing, as the end of a sentence."""
        return f"is lost: device {self.device} no longer responds"

    @property
    def value_id(self) -> int:
        """A number that tensors share if their values are in the same memory."""
        return id(self.memory.array)

    def alias(self, name: str, shape: Shape) -> TensorRef:
        """Return the same value under another name or in another shape."""
        memory = self.memory
        same = memory if shape == self.shape else memory.shaped(shape)
        return DeviceRef(name, self.dtype, shape, same)

    def compute(self, work: Callable[[Any, Any], Any]) -> Any:
        """Return ``work(library, array)``, computed on the device."""
        return self.memory.compute(lambda xp, array: work(xp, self._widened(xp, array)))

    def _widened(self, xp: Any, array: Any) -> Any:
        """Return BF16 as float32, as ``view()`` does on the host."""
        if self.dtype is not BF16:
            return array
        return (array.astype(xp.uint32) << np.uint32(16)).view(xp.float32)


def on_host(ref: TensorRef) -> TensorRef:
    """Return the same value in host memory.

    A value read from a file is in host memory, whatever device it names.
    """
    if ref.device == HOST:
        return ref
    return TensorRef(ref.name, ref.dtype, ref.shape, ref.data)
