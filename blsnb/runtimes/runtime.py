"""The arrays that tensors are made of, and the devices that hold them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np

from blsnb.tensors.dtypes import DType, Shape
from blsnb.tensors.memory import Memory

NO_DEVICE = "Failed to get current CUDA device id."
"""Triton's error text for a tensor on a device that does not exist."""


class DeviceError(Exception):
    """A device is missing or fails; with Triton's text, if Triton has one."""


class ImportedMemory(NamedTuple):
    """Memory of another library, imported without a copy, and its type."""

    memory: Memory
    dtype: DType


class MemoryUse(NamedTuple):
    """Bytes of a device's memory that arrays use now, and their maximum so far."""

    in_use: int
    peak: int


class DeviceUse(NamedTuple):
    """Work and memory of one ``execute`` on a device."""

    device: str
    compute_ns: int
    """Time between the device's events before and after its work."""
    in_use_bytes: int
    """At the end."""
    peak_bytes: int
    """Maximum during the work."""


class Measurement:
    """The measurement of one ``execute``; it has a result once the work is done."""

    def __init__(self) -> None:
        self.use: DeviceUse | None = None


class Runtime(Protocol):
    """A library of arrays and its devices.

    Importing a runtime's module initialises no device; constructing the runtime may.
    """

    @property
    def name(self) -> str:
        """``"numpy"``, ``"cupy"`` or ``"simulated"``."""

    @property
    def gpu_count(self) -> int:
        """Number of usable devices."""

    def describe(self) -> str:
        """Return library, devices and versions as text."""

    def from_dlpack(self, producer: Any) -> ImportedMemory:
        """Import memory by DLPack without a copy, once its producer has filled it.

        Parameters
        ----------
        producer
            A capsule, or an object with ``__dlpack__`` and ``__dlpack_device__``.

        Raises
        ------
        DeviceError
            The memory is on a device that the runtime does not have.
        DLPackError
            The elements are not in C order, or of a type that Triton does not have.
        """

    def to_device(
        self,
        data: bytes | memoryview,
        dtype: np.dtype[Any],
        shape: Shape,
        device: int = 0,
    ) -> Memory:
        """Copy elements from the host to a device, or within a host without devices.

        Raises
        ------
        DeviceError
            The device does not exist, or its memory is exhausted.
        """

    def measure(self, device: int) -> AbstractContextManager[Measurement]:
        """Make a device the current one and measure the work; wait for its end."""

    def synchronise(self) -> None:
        """Wait until every device has finished its work."""

    def memory_use(self, device: int) -> MemoryUse:
        """Return the memory in use on a device, as far as it is known."""
