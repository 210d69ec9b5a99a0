"""Tensors on a device that is simulated in the host's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from blsnb.printable import counted, printable
from blsnb.runtimes.runtime import (
    NO_DEVICE,
    DeviceError,
    DeviceUse,
    ImportedMemory,
    Measurement,
    MemoryUse,
)
from blsnb.runtimes.simulated import DEVICES, Device, adopted, asarray
from blsnb.tensors import dlpack
from blsnb.tensors.dtypes import Shape
from blsnb.tensors.memory import Memory, device_name

T = TypeVar("T")
_STREAM = 1
"""The stream that a producer should wait for."""


class SimulatedMemory(Memory):
    """Elements in an array of a simulated device."""

    @property
    def device(self) -> str:
        """Such as ``"gpu:0"``."""
        name: str = self.array.device.name
        return name

    def host(self) -> memoryview:
        """Return a read-only copy of the bytes on the host."""
        return memoryview(self.array.get().tobytes())

    def copied(self) -> SimulatedMemory:
        """Return a copy on the same device."""
        copy = self.array.copy()
        copy.device.stream.synchronise()
        return SimulatedMemory(copy)

    def capsule(self) -> Any:
        """Return a DLPack capsule of this memory, not of a copy."""
        return self.array.__dlpack__(stream=_STREAM)

    def compute(self, work: Callable[[Any, Any], T]) -> T:
        """Return ``work(numpy, memory)``; only a resulting array counts as moved."""
        self.array.device.stream.synchronise()
        result = work(np, self.array.raw())
        if isinstance(result, np.ndarray):
            self.array.device.counts.add_to_host(result.nbytes)
        return result


class SimulatedRuntime:
    """A runtime with simulated devices.

    Parameters
    ----------
    gpu_count
        Number of simulated devices.
    """

    name = "simulated"

    def __init__(self, gpu_count: int = 1) -> None:
        self.gpu_count = gpu_count
        self._devices = DEVICES[:gpu_count]

    def __repr__(self) -> str:
        return printable(f"<SimulatedRuntime: {self.describe()}>")

    def describe(self) -> str:
        """Return the number of devices, and that they are simulated."""
        devices = counted(self.gpu_count, "device")
        return f"{devices} simulated in the host's memory, with NumPy {np.__version__}"

    def from_dlpack(self, producer: Any) -> ImportedMemory:
        """Import memory of a simulated device by DLPack, without a copy."""
        capsule = producer
        if not dlpack.is_capsule(producer):
            kind, number = producer.__dlpack_device__()
            is_device = kind == dlpack.CUDA
            if is_device:
                self._device(number)
            capsule = producer.__dlpack__(stream=_STREAM if is_device else None)
        described = dlpack.describe(capsule)
        kind, number = described.device
        if kind != dlpack.CUDA:
            raise DeviceError(f"DLDevice type {kind} is not that of a device")
        self._device(number)
        memory = SimulatedMemory(adopted(capsule, number))
        return ImportedMemory(memory, described.dtype)

    def _device(self, number: int) -> Device:
        if number >= self.gpu_count:
            raise DeviceError(NO_DEVICE)
        return self._devices[number]

    def to_device(
        self,
        data: bytes | memoryview,
        dtype: np.dtype[Any],
        shape: Shape,
        device: int = 0,
    ) -> SimulatedMemory:
        """Copy elements from the host to a device."""
        values = np.frombuffer(data, dtype).reshape(shape)
        return SimulatedMemory(asarray(values, self._device(device)))

    @contextmanager
    def measure(self, device: int) -> Iterator[Measurement]:
        """Measure the work of a device by its own clock."""
        used, measurement = self._device(device), Measurement()
        used.stream.synchronise()
        busy_ns, peak = used.stream.busy_ns, used.peak
        used.peak = used.in_use
        try:
            yield measurement
        finally:
            used.stream.synchronise()
            elapsed = used.stream.busy_ns - busy_ns
            memory = self.memory_use(device)
            measurement.use = DeviceUse(device_name(device), elapsed, *memory)
            used.peak = max(peak, used.peak)

    def synchronise(self) -> None:
        """Wait until every device has finished its work."""
        for device in self._devices:
            device.stream.synchronise()

    def memory_use(self, device: int) -> MemoryUse:
        """Return the memory that arrays use on a device."""
        used = self._device(device)
        return MemoryUse(used.in_use, used.peak)
