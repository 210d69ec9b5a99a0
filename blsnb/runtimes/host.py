"""Tensors as NumPy arrays in the host's memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from blsnb.printable import printable
from blsnb.runtimes.runtime import (
    NO_DEVICE,
    DeviceError,
    DeviceUse,
    ImportedMemory,
    Measurement,
    MemoryUse,
)
from blsnb.tensors.dtypes import Shape
from blsnb.tensors.memory import HOST, Memory

T = TypeVar("T")


class HostMemory(Memory):
    """Elements in a NumPy array."""

    device = HOST

    def host(self) -> memoryview:
        """Return a read-only copy of the bytes."""
        return memoryview(self.array.tobytes())

    def copied(self) -> HostMemory:
        """Return a copy."""
        return HostMemory(self.array.copy())

    def capsule(self) -> Any:
        """Return a DLPack capsule of this memory, not of a copy."""
        return self.array.__dlpack__()

    def compute(self, work: Callable[[Any, Any], T]) -> T:
        """Return ``work(numpy, array)``."""
        return work(np, self.array)


class NumpyRuntime:
    """The runtime of a machine without a device."""

    name = "numpy"
    gpu_count = 0

    def __repr__(self) -> str:
        return printable(f"<NumpyRuntime: {self.describe()}>")

    def describe(self) -> str:
        """Return library and version."""
        return f"NumPy {np.__version__} on the host"

    def from_dlpack(self, producer: Any) -> ImportedMemory:
        """Import host memory by DLPack, without a copy."""
        # Deferred: few models use DLPack.
        from blsnb.tensors import dlpack

        if not dlpack.is_capsule(producer) and dlpack.is_on_cuda(producer):
            raise DeviceError(NO_DEVICE)
        imported = dlpack.import_capsule(dlpack.capsule_of(producer))
        return ImportedMemory(HostMemory(imported.array), imported.dtype)

    def to_device(
        self,
        data: bytes | memoryview,
        dtype: np.dtype[Any],
        shape: Shape,
        device: int = 0,
    ) -> HostMemory:
        """Copy elements to other host memory."""
        return HostMemory(np.frombuffer(data, dtype).reshape(shape).copy())

    @contextmanager
    def measure(self, device: int) -> Iterator[Measurement]:
        """Measure the host's time."""
        measurement, start = Measurement(), time.perf_counter_ns()
        try:
            yield measurement
        finally:
            elapsed = time.perf_counter_ns() - start
            measurement.use = DeviceUse(HOST, elapsed, *self.memory_use(device))

    def synchronise(self) -> None:
        """Return at once: NumPy's functions return when their work is done."""

    def memory_use(self, device: int) -> MemoryUse:
        """Return zeros: there is no device."""
        return MemoryUse(0, 0)
