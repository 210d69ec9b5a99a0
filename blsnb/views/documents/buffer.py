"""The binary data that accompanies a header, in aligned parts."""

from __future__ import annotations

from typing import Any

import numpy as np

_ALIGNMENT = 8
"""A typed array in the page starts at a multiple of its element size."""


class Buffer:
    """Parts of bytes, one after the other."""

    def __init__(self) -> None:
        self._data = bytearray()

    def __bytes__(self) -> bytes:
        return bytes(self._data)

    def add(self, part: bytes) -> list[int]:
        """Append bytes and return ``[offset, count]``."""
        self._data.extend(bytes(-len(self._data) % _ALIGNMENT))
        offset = len(self._data)
        self._data.extend(part)
        return [offset, len(part)]

    def add_column(self, array: np.ndarray[Any, Any], dtype: str) -> list[Any]:
        """Append numbers, little-endian; return ``[dtype, offset, count]``."""
        data = np.ascontiguousarray(array, f"<{dtype}").tobytes()
        return [dtype, self.add(data)[0], array.size]
