"""Runtime: what the engine needs of a library of arrays and of its devices."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np

from blsnb.tensors.dtypes import DType, Shape
from blsnb.tensors.memory import Memory

NO_DEVICE = "Failed to get current CUDA device id."
"""What Triton says of a tensor on a device where there is none."""


class DeviceError(Exception):
    """A device is not there, or refuses; the text is Triton's where Triton has one."""


class ImportedMemory(NamedTuple):
    """Memory of another library, taken without a copy, and its type."""

    memory: Memory
    dtype: DType


class MemoryUse(NamedTuple):
    """Bytes of a device's memory that arrays have, and how many they had at most."""

    in_use: int
    peak: int


class DeviceUse(NamedTuple):
    """What one ``execute`` did on a device."""

    device: str
    compute_ns: int
    """Between the device's events at its beginning and after all of its work."""
    in_use_bytes: int
    """At its end."""
    peak_bytes: int
    """The most meanwhile."""


class Measurement(Protocol):
    """A measurement that goes on; when it has ended, its result."""

    use: DeviceUse | None


class Runtime(Protocol):
    """The arrays that tensors are made of, and the devices that they may be on.

    Importing a runtime's module initialises no device; making the runtime may.
    """

    @property
    def name(self) -> str:
        """``"numpy"``, ``"cupy"`` or ``"simulated"``."""

    @property
    def gpu_count(self) -> int:
        """How many devices can be used."""

    def describe(self) -> str:
        """Return in words what it is: library, device, versions."""

    def from_dlpack(self, producer: Any) -> ImportedMemory:
        """Take memory by DLPack, without a copy, once its producer has filled it.

        Parameters
        ----------
        producer
            A capsule, or what has ``__dlpack__`` and ``__dlpack_device__``.

        Raises
        ------
        DeviceError
            It is on a device that is not there.
        DLPackError
            Its elements are not in C order, or of a type that Triton has not.
        """

    def to_device(
        self,
        data: bytes | memoryview,
        dtype: np.dtype[Any],
        shape: Shape,
        device: int = 0,
    ) -> Memory:
        """Copy elements from the host to a device; without any, to other host memory.

        Raises
        ------
        DeviceError
            There is no room, or no such device.
        """

    def measure(self, device: int) -> AbstractContextManager[Measurement]:
        """Work on a device, and measure it: when this ends, so has the work."""

    def synchronise(self) -> None:
        """Wait until every device has done what it was given."""

    def memory_use(self, device: int) -> MemoryUse:
        """Return how much of a device's memory is in use, as far as it is known."""
