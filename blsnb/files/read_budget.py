"""Memory limits for reading bytes that somebody else wrote."""

from __future__ import annotations

import io
import zlib
from typing import Protocol

from blsnb.options import options

RATIO = 64
"""Default limit, in bytes of memory for each byte read."""
MOST_BYTES = 256 << 20
"""Default limit in bytes, however large the file or body is."""
LEAST_BYTES = 1 << 20
"""Default limit in bytes of small files: their fixed costs exceed any ratio."""
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
"""Bytes that CPython 3.11 to 3.14 allocate for the value that a mark announces, less
those of the mark itself, which is in no string. After a comma stands a number unless
another mark says more; the corrections of empty values exceed no sum of their marks."""
_WIDEST = 4
"""Bytes of a character in the widest of Python's strings."""


class ReadLimitError(ValueError):
    """Reading needs more memory than allowed."""


class Stream(Protocol):
    """A file whose content is inflated piece by piece."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""


class ReadBudget:
    """The memory that reading one file, body or message may use.

    Parameters
    ----------
    size
        Bytes of the file or body, as received.
    what
        Its name in the error, such as ``"the body"``.
    limit
        Bytes of memory; `limit_of` the size if None.
    """

    def __init__(self, size: int, what: str, limit: int | None = None) -> None:
        self.limit = limit_of(size) if limit is None else limit
        self._size = size
        self._what = what
        self._left = self.limit

    def check(self, count: int) -> None:
        """Refuse to go on if so many bytes, which are free again soon, exceed the rest.

        Raises
        ------
        ReadLimitError
            They do; it names the limit and the option that raises it.
        """
        if count > self._left:
            raise ReadLimitError(
                f"reading {self._what} of {self._size:,} bytes would take more than "
                f"{self.limit:,} bytes of memory; to allow more, set "
                "blsnb.options.read_limit_bytes (on a command line: "
                "--read-limit-bytes)"
            )

    def spend(self, count: int) -> None:
        """Count bytes that stay allocated.

        Raises
        ------
        ReadLimitError
            They exceed what is left.
        """
        self.check(count)
        self._left -= count

    def release(self, count: int) -> None:
        """Count bytes that were spent and are free again."""
        self._left += count

    def read(self, stream: Stream) -> bytes:
        """Return the content of a stream that inflates what it reads.

        Raises
        ------
        ReadLimitError
            It is larger than what is left; no more than that was inflated.
        """
        whole = io.BytesIO()
        while piece := stream.read(_PIECE):
            self.spend(len(piece))
            whole.write(piece)
        return whole.getvalue()

    def spend_json(self, text: bytes | str) -> None:
        """Count the Python objects that a JSON text becomes, before it is parsed.

        Raises
        ------
        ReadLimitError
            They exceed what is left.
        """
        self.spend(json_cost(text))


def limit_of(size: int) -> int:
    """Return how many bytes of memory reading so many bytes may use."""
    if options.read_limit_bytes is not None:
        return options.read_limit_bytes
    return max(LEAST_BYTES, min(RATIO * size, MOST_BYTES))


def json_cost(text: bytes | str) -> int:
    """Return an upper bound of the bytes that parsing a JSON text allocates.

    Punctuation is counted also where it stands in a string: much faster than parsing,
    and never too little.
    """

    def count(mark: str) -> int:
        if isinstance(text, str):
            return text.count(mark)
        return text.count(mark.encode())

    wide = not text.isascii() or count("\\u") > 0
    # The text, decoded, and the strings in it.
    size = 2 * (_WIDEST if wide else 1) * len(text)
    return size + sum(cost * count(mark) for mark, cost in _COSTS.items())


class Inflated:
    """The content of gzip or zlib data, inflated as it is read.

    Damaged data ends where it cannot be inflated any further.

    Parameters
    ----------
    data
        What was received.
    """

    def __init__(self, data: bytes) -> None:
        self._inflate = zlib.decompressobj(_ANY_FORMAT)
        self._left = data

    @property
    def whole(self) -> bool:
        """Whether the data ended where its format says, checksum included."""
        return self._inflate.eof and not self._inflate.unused_data

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""
        try:
            piece = self._inflate.decompress(self._left, size)
        except zlib.error:
            return b""
        self._left = self._inflate.unconsumed_tail
        return piece
