"""NumpyRuntime: all tensors are NumPy arrays in the host's memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from blsnb.runtimes.runtime import (
    NO_DEVICE,
    DeviceError,
    DeviceUse,
    ImportedMemory,
    MemoryUse,
)
from blsnb.tensors import dlpack
from blsnb.tensors.dtypes import Shape
from blsnb.tensors.memory import HOST

T = TypeVar("T")
Array = np.ndarray[Any, Any]


class HostMemory:
    """Elements in a NumPy array."""

    device = HOST

    def __init__(self, array: Array) -> None:
        self.array = array

    @property
    def shape(self) -> Shape:
        """The shape."""
        shape: Shape = self.array.shape
        return shape

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.array.nbytes

    def host(self) -> memoryview:
        """Return a copy of the bytes, which nobody can write."""
        return memoryview(self.array.tobytes())

    def copied(self) -> HostMemory:
        """Return a copy."""
        return HostMemory(self.array.copy())

    def shaped(self, shape: Shape) -> HostMemory:
        """Return the same elements in another shape."""
        return HostMemory(self.array.reshape(shape))

    def capsule(self) -> Any:
        """Return a DLPack capsule of this very memory."""
        return self.array.__dlpack__()

    def compute(self, work: Callable[[Any, Any], T]) -> T:
        """Return what work makes of NumPy and the array."""
        return work(np, self.array)


class _Timed:
    """A measurement of host time."""

    use: DeviceUse | None = None


class NumpyRuntime:
    """The runtime of a machine without a device."""

    name = "numpy"
    gpu_count = 0

    def describe(self) -> str:
        """Return library and version."""
        return f"NumPy {np.__version__} on the host"

    def from_dlpack(self, producer: Any) -> ImportedMemory:
        """Take host memory by DLPack, without a copy.

        Raises
        ------
        DeviceError
            It is on a device.
        DLPackError
            Its elements are not in C order, or of a type that Triton has not.
        """
        if dlpack.is_capsule(producer):
            capsule = producer
        else:
            if producer.__dlpack_device__()[0] == dlpack.CUDA:
                raise DeviceError(NO_DEVICE)
            capsule = producer.__dlpack__(stream=None)
        imported = dlpack.import_capsule(capsule)
        return ImportedMemory(HostMemory(imported.array), imported.dtype)

    def to_device(
        self,
        data: bytes | memoryview,
        dtype: np.dtype[Any],
        shape: Shape,
        device: int = 0,
    ) -> HostMemory:
        """Copy elements to memory of their own."""
        return HostMemory(np.frombuffer(data, dtype).reshape(shape).copy())

    @contextmanager
    def measure(self, device: int) -> Iterator[_Timed]:
        """Measure the host's time: there is no device to wait for."""
        timed, start = _Timed(), time.perf_counter_ns()
        try:
            yield timed
        finally:
            elapsed = time.perf_counter_ns() - start
            timed.use = DeviceUse(HOST, elapsed, *self.memory_use(device))

    def synchronise(self) -> None:
        """Return at once: NumPy's work is done when its functions return."""

    def memory_use(self, device: int) -> MemoryUse:
        """Return that no device has any."""
        return MemoryUse(0, 0)
