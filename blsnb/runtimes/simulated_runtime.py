"""SimulatedRuntime: tensors on a device that is simulated in the host's memory."""

from __future__ import annotations

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
from blsnb.runtimes.simulated import DEVICES, Device, DeviceArray, adopted, asarray
from blsnb.tensors import dlpack
from blsnb.tensors.dtypes import Shape
from blsnb.tensors.memory import device_name

T = TypeVar("T")
_STREAM = 1
"""The stream that a producer is told to wait for."""


class SimulatedMemory:
    """Elements in an array of a simulated device."""

    def __init__(self, array: DeviceArray) -> None:
        self.array = array

    @property
    def device(self) -> str:
        """Such as ``"gpu:0"``."""
        return self.array.device.name

    @property
    def shape(self) -> Shape:
        """The shape."""
        return self.array.shape

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.array.nbytes

    def host(self) -> memoryview:
        """Return a copy of the bytes on the host, which nobody can write."""
        return memoryview(self.array.get().tobytes())

    def copied(self) -> SimulatedMemory:
        """Return a copy on the same device, complete."""
        copy = self.array.copy()
        copy.device.stream.synchronise()
        return SimulatedMemory(copy)

    def shaped(self, shape: Shape) -> SimulatedMemory:
        """Return the same elements in another shape."""
        return SimulatedMemory(self.array.reshape(*shape))

    def capsule(self) -> Any:
        """Return a DLPack capsule of this very memory."""
        return self.array.__dlpack__(stream=_STREAM)

    def compute(self, work: Callable[[Any, Any], T]) -> T:
        """Return what work makes of the elements; only that counts as moved."""
        self.array.device.stream.synchronise()
        found = work(np, self.array.raw())
        if isinstance(found, np.ndarray):
            counts = self.array.device.counts
            counts.to_host += 1
            counts.to_host_bytes += found.nbytes
        return found


class _Measured:
    """What one ``execute`` did on a device."""

    use: DeviceUse | None = None


class SimulatedRuntime:
    """A runtime with devices that are not there.

    Parameters
    ----------
    gpu_count
        How many of the simulated devices can be used.
    """

    name = "simulated"

    def __init__(self, gpu_count: int = 1) -> None:
        self.gpu_count = gpu_count
        self._devices = DEVICES[:gpu_count]

    def describe(self) -> str:
        """Return that it is none of the real ones."""
        count = f"{self.gpu_count} device{'' if self.gpu_count == 1 else 's'}"
        return f"{count} simulated in the host's memory, with NumPy {np.__version__}"

    def from_dlpack(self, producer: Any) -> ImportedMemory:
        """Take memory of a simulated device by DLPack, without a copy.

        Raises
        ------
        DeviceError
            It is on another device.
        DLPackError
            Its elements are not in C order, or of a type that Triton has not.
        """
        if dlpack.is_capsule(producer):
            capsule = producer
        else:
            kind, number = producer.__dlpack_device__()
            if kind == dlpack.CUDA:
                self._device(number)
            on_host = kind != dlpack.CUDA
            capsule = producer.__dlpack__(stream=None if on_host else _STREAM)
        described = dlpack.describe(capsule)
        kind, number = described.device
        if kind != dlpack.CUDA:
            raise DeviceError(f"DLDevice type {kind} is not that of a device")
        self._device(number)
        return ImportedMemory(
            SimulatedMemory(adopted(capsule, number)), described.dtype
        )

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
        """Copy elements from the host to a device.

        Raises
        ------
        DeviceError
            There is no such device.
        """
        values = np.frombuffer(data, dtype).reshape(shape)
        return SimulatedMemory(asarray(values, self._device(device)))

    @contextmanager
    def measure(self, device: int) -> Iterator[_Measured]:
        """Work on a device, and measure it by its own clock."""
        used, measured = self._device(device), _Measured()
        used.stream.synchronise()
        busy_ns, peak = used.stream.busy_ns, used.peak
        used.peak = used.in_use
        try:
            yield measured
        finally:
            used.stream.synchronise()
            elapsed = used.stream.busy_ns - busy_ns
            found = self.memory_use(device)
            measured.use = DeviceUse(device_name(device), elapsed, *found)
            used.peak = max(peak, used.peak)

    def synchronise(self) -> None:
        """Wait until every device has done what it was given."""
        for device in self._devices:
            device.stream.synchronise()

    def memory_use(self, device: int) -> MemoryUse:
        """Return how much memory arrays have on a device."""
        used = self._device(device)
        return MemoryUse(used.in_use, used.peak)
