"""The elements of a tensor in an array on the host or on a device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from blsnb.tensors.dtypes import Shape

T = TypeVar("T")
HOST = "cpu"
"""Name of the host's memory; that of the first device is ``"gpu:0"``."""


class Memory(ABC):
    """Elements of one tensor in C order; BF16 as the uint16 of their bits.

    Each method waits until its result is complete.

    Parameters
    ----------
    array
        An array of a runtime's library.
    """

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    @abstractmethod
    def device(self) -> str:
        """``"cpu"`` or ``"gpu:0"``."""

    @property
    def lost(self) -> bool:
        """Whether the device no longer answers, so that no element can be read."""
        return False

    @property
    def shape(self) -> Shape:
        """The shape."""
        return tuple(self.array.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(self.array.nbytes)

    def shaped(self, shape: Shape) -> Memory:
        """Return the same elements in another shape."""
        return type(self)(self.array.reshape(shape))

    @abstractmethod
    def host(self) -> memoryview:
        """Return a read-only copy of the bytes on the host."""

    @abstractmethod
    def copied(self) -> Memory:
        """Return a copy on the same device."""

    @abstractmethod
    def capsule(self) -> Any:
        """Return a DLPack capsule of this memory, not of a copy."""

    @abstractmethod
    def compute(self, work: Callable[[Any, Any], T]) -> T:
        """Return ``work(library, array)``, computed where the elements are.

        Parameters
        ----------
        work
            Called with a library like NumPy and an array of its kind. An array that
            it returns is copied to the host.
        """


def device_name(number: int) -> str:
    """Return the name of a device, such as ``"gpu:0"``."""
    return f"gpu:{number}"


def device_number(name: str) -> int:
    """Return the number of a device; 0 for the host, as in DLPack."""
    return int(name.partition(":")[2] or 0)
