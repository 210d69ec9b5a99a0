"""Buffer: the bytes that travel beside a header, each part at an aligned place."""

from __future__ import annotations

from typing import Any

import numpy as np

# A typed array in the page can only begin at a multiple of its element size.
_ALIGNMENT = 8


class Buffer:
    """Parts laid one after the other; what is added is found at its offset."""

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
