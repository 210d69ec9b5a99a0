"""What a call cost on a device: the copies made for it, and what its model used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from blsnb.runtimes.runtime import DeviceUse


class Copy(NamedTuple):
    """A tensor that was copied between the host and a device, at the time it was."""

    ns: int
    duration_ns: int
    tensor: str
    """The tensor's name."""
    byte_size: int
    source: str
    """``"cpu"`` or ``"gpu:0"``."""
    target: str
    hostile: bool = False
    """Whether nothing asked for it but hostile placement."""


class DeviceWork:
    """Filled in as it happens; read-only afterwards."""

    __slots__ = ("copies", "use")

    def __init__(self) -> None:
        self.copies: list[Copy] = []
        self.use: DeviceUse | None = None
        """Of the ``execute``; None if it ran on the host."""


def copied_bytes(copies: Iterable[Copy]) -> int:
    """Return how many bytes were copied."""
    return sum(copy.byte_size for copy in copies)


def copied_ns(copies: Iterable[Copy]) -> int:
    """Return how long that took."""
    return sum(copy.duration_ns for copy in copies)
