"""Memory limits for reading files and messages from others."""

from __future__ import annotations

import io
import zlib
from typing import Protocol

from blsnb.options import options

RATIO = 64
"""Default limit, in bytes of memory for each byte read."""
MAX_BYTES = 256 << 20
"""Default limit in bytes for large files and bodies."""
MIN_BYTES = 1 << 20
"""Default limit in bytes for small files, whose fixed costs exceed any ratio."""
_PIECE = 1 << 16
_ANY_FORMAT = 32 + zlib.MAX_WBITS
"""Window bits that accept the headers of gzip and of zlib."""
_COSTS = {
    ",": 39,
    "[": 86,
    "[]": -64,
    "{": 240,
    "{}": -176,
    ":": 160,
    '"': 15,
    '""': -30,
}
"""Bytes that CPython 3.11 to 3.14 allocate for the value that follows a mark, less the
mark's own. After a comma a number is assumed, unless another mark follows; empty
values are corrected by at most the sum of their marks."""
_MAX_CHARACTER = 4
"""Maximum bytes of a character in Python's strings."""


class ReadLimitError(ValueError):
    """Reading needs more memory than allowed."""


class InflatedStream(Protocol):
    """A file whose content is inflated piece by piece."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""


class ReadBudget:
    """The memory that reading one file, body or message may use.

    Parameters
    ----------
    size
        Bytes of the file or body, as received.
    subject
        Its name in the error, such as ``"the body"``.
    limit
        Bytes of memory; `limit_of` the size if None.
    """

    def __init__(self, size: int, subject: str, limit: int | None = None) -> None:
        self.limit = limit_of(size) if limit is None else limit
        self._size = size
        self._subject = subject
        self._left = self.limit

    def check(self, count: int) -> None:
        """Check a temporary allocation of bytes.

        Raises
        ------
        ReadLimitError
            It exceeds the rest of the budget.
        """
        if count > self._left:
            raise ReadLimitError(
                f"reading {self._subject} of {self._size:,} bytes would take more than "
                f"{self.limit:,} bytes of memory; to allow more, set "
                "blsnb.options.read_limit_bytes (on a command line: "
                "--read-limit-bytes)"
            )

    def spend(self, count: int) -> None:
        """Check and count bytes that stay allocated."""
        self.check(count)
        self._left -= count

    def release(self, count: int) -> None:
        """Return spent bytes that are free again."""
        self._left += count

    def read(self, stream: InflatedStream) -> bytes:
        """Return a stream's content, inflating no more than the budget allows."""
        whole = io.BytesIO()
        while piece := stream.read(_PIECE):
            self.spend(len(piece))
            whole.write(piece)
        return whole.getvalue()

    def spend_json(self, text: bytes | str) -> None:
        """Count the Python objects of a JSON text, before it is parsed."""
        self.spend(json_cost(text))


def limit_of(size: int) -> int:
    """Return the maximum bytes of memory for reading a number of bytes."""
    if options.read_limit_bytes is not None:
        return int(options.read_limit_bytes)
    return max(MIN_BYTES, min(RATIO * size, MAX_BYTES))


def json_cost(text: bytes | str) -> int:
    """Return an upper bound of the bytes that parsing a JSON text allocates.

    Punctuation in strings counts, too: much faster than parsing, and never too low.
    """

    def count(mark: str) -> int:
        if isinstance(text, str):
            return text.count(mark)
        return text.count(mark.encode())

    wide = not text.isascii() or count("\\u") > 0
    # The text, decoded, and the strings in it.
    size = 2 * (_MAX_CHARACTER if wide else 1) * len(text)
    return size + sum(cost * count(mark) for mark, cost in _COSTS.items())


class Inflated:
    """The content of gzip or zlib data, inflated while reading.

    Damaged data ends at the damage.
    """

    def __init__(self, data: bytes) -> None:
        self._inflate = zlib.decompressobj(_ANY_FORMAT)
        self._left = data

    @property
    def whole(self) -> bool:
        """Whether the data is complete, its checksum correct, and nothing follows."""
        return self._inflate.eof and not self._inflate.unused_data

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""
        try:
            piece = self._inflate.decompress(self._left, size)
        except zlib.error:
            return b""
        self._left = self._inflate.unconsumed_tail
        return piece
