"""Memory: where a runtime keeps the elements of a tensor, on the host or a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from blsnb.tensors.dtypes import Shape

T = TypeVar("T")
HOST = "cpu"
"""How the host's memory is called where that of a device is ``"gpu:0"``."""


class Memory(Protocol):
    """Elements of one tensor in C order; BF16 as the uint16 of their bits.

    What a method returns is complete: nobody has to wait for it.
    """

    @property
    def device(self) -> str:
        """``"cpu"`` or ``"gpu:0"``."""

    @property
    def shape(self) -> Shape:
        """The shape."""

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""

    @property
    def array(self) -> Any:
        """The array of the runtime's library that they are."""

    def host(self) -> memoryview:
        """Return a copy of the bytes on the host, which nobody can write."""

    def copied(self) -> Memory:
        """Return a copy on the same device."""

    def shaped(self, shape: Shape) -> Memory:
        """Return the same elements in another shape."""

    def capsule(self) -> Any:
        """Return a DLPack capsule of this very memory."""

    def compute(self, work: Callable[[Any, Any], T]) -> T:
        """Return what work makes of the elements, done where they are.

        Parameters
        ----------
        work
            Called with a library like NumPy, and the array. An array that it
            returns is brought to the host.
        """


def device_name(number: int) -> str:
    """Return how a device is called."""
    return f"gpu:{number}"


def device_number(name: str) -> int:
    """Return the number of a device; 0 for the host, as in DLPack."""
    return int(name.partition(":")[2] or 0)
