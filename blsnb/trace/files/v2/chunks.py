"""The framing of a run file, ``.blsrun`` version 2.

This file imports only the standard library and runs on Python 3.8, so that it can be
copied beside a program that records without blsnb. docs/reference/contracts.md defines
its format.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Bytes = bytes | memoryview

MAGIC = b"\x89BLSRUN\n"
FORMAT = 2
MAX_JSON = 64 << 20
"""Maximum number of bytes of a chunk's JSON, inflated."""
COMPRESSED = 1
"""Flag of a chunk whose JSON is compressed with zlib."""
_HEADER = struct.Struct("<4sHHIQI")
_CHECKED = _HEADER.size - 4
"""Number of bytes of the header that its checksum covers."""
_NUMBERS = 1 << 16
"""Chunks are numbered modulo this number."""
_COMPRESS_FROM = 256
"""Minimum number of bytes of JSON that are compressed."""
_LEVEL = 4
_PIECE = 1 << 16
"""Maximum number of bytes inflated at once."""


class DamagedChunk(ValueError):
    """The bytes of a chunk are damaged."""


class CutOffChunk(DamagedChunk):
    """The file ends before the chunk does."""


class LargeChunk(ValueError):
    """The JSON of a chunk is larger than `MAX_JSON`."""


class FileChunk(NamedTuple):
    """A chunk of a file; its checksum is correct."""

    type: str
    flags: int
    json: bytes
    """As stored: see `json_pieces`."""
    body: bytes


def packed(
    type: str, number: int, value: Any, body: Sequence[Bytes] = ()
) -> list[Bytes]:
    """Return the parts of a chunk, to be written one after the other.

    Parameters
    ----------
    type
        Four ASCII letters.
    number
        Number of chunks before it in the file.
    value
        The value of its JSON.
    body
        Parts of its body.

    Raises
    ------
    LargeChunk
        The JSON is too large.
    ValueError
        The value has a float that JSON has no number for: see `json_float`.
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
    if len(text) > MAX_JSON:
        raise LargeChunk(f"{type}: {len(text):,} bytes of JSON exceed {MAX_JSON:,}")
    flags = 0
    if len(text) >= _COMPRESS_FROM:
        smaller = zlib.compress(text, _LEVEL)
        if len(smaller) < len(text):
            text, flags = smaller, COMPRESSED
    return framed(type, number, flags, text, body)


def framed(
    type: str, number: int, flags: int, text: bytes, body: Sequence[Bytes]
) -> list[Bytes]:
    """Return the parts of a chunk whose JSON is given as it is stored."""
    size = sum(len(part) for part in body)
    facts = (type.encode("ascii"), flags, number % _NUMBERS, len(text), size)
    checksum = zlib.crc32(_HEADER.pack(*facts, 0)[:_CHECKED])
    for part in (text, *body):
        checksum = zlib.crc32(part, checksum)
    return [_HEADER.pack(*facts, checksum) + text, *body]


def json_float(value: float) -> Any:
    """Return a float as JSON has it: infinities and NaN as ``[text]``."""
    return value if math.isfinite(value) else [value.hex()]


class ChunkReader:
    """Reads the chunks of a file, from its beginning to its end.

    Parameters
    ----------
    file
        Positioned after `MAGIC`, or after one of its chunks.
    size
        Bytes of the file.
    number
        Number of chunks before its position.
    offset
        Number of bytes before its position.
    """

    def __init__(
        self, file: BinaryIO, size: int, number: int = 0, offset: int = len(MAGIC)
    ) -> None:
        self._file = file
        self._size = size
        self._number = number
        self.offset = offset
        """Number of bytes read in whole chunks, the signature before them included."""

    def read(self) -> FileChunk | None:
        """Return the next chunk; None at the end of the file.

        Raises
        ------
        CutOffChunk
            The file ends within it.
        DamagedChunk
            Its bytes are damaged, or it is out of order.
        """
        head = self._file.read(_HEADER.size)
        if not head:
            return None
        if len(head) < _HEADER.size:
            raise CutOffChunk("the file ends in the middle of a chunk's header")
        name, flags, number, json_size, body_size, checksum = _HEADER.unpack(head)
        known = name.isalpha() and json_size <= MAX_JSON
        if not known or number != self._number % _NUMBERS:
            raise DamagedChunk("no header of a chunk")
        end = self.offset + _HEADER.size + json_size + body_size
        if end > self._size:
            raise CutOffChunk("the file ends in the middle of a chunk")
        text, body = self._file.read(json_size), self._file.read(body_size)
        if checksum != zlib.crc32(body, zlib.crc32(text, zlib.crc32(head[:_CHECKED]))):
            raise DamagedChunk("a chunk whose checksum does not match its bytes")
        self.offset = end
        self._number += 1
        return FileChunk(name.decode("ascii"), flags, text, body)


def json_pieces(chunk: FileChunk) -> Iterator[bytes]:
    """Yield the JSON text of a chunk, inflated piece by piece.

    Raises
    ------
    LargeChunk
        It is larger than `MAX_JSON`.
    ValueError
        It is not compressed as its flags say, or they are unknown.
    """
    if chunk.flags & ~COMPRESSED:
        raise ValueError(f"unknown flags {chunk.flags:#x}")
    if not chunk.flags:
        yield chunk.json
        return
    unpack, left, size = zlib.decompressobj(), chunk.json, 0
    while left and not unpack.eof:
        try:
            piece = unpack.decompress(left, _PIECE)
        except zlib.error as error:
            raise ValueError(str(error)) from None
        left = unpack.unconsumed_tail
        size += len(piece)
        if size > MAX_JSON:
            raise LargeChunk(f"the JSON of a chunk is larger than {MAX_JSON:,} bytes")
        yield piece
    if not unpack.eof or unpack.unused_data:
        raise ValueError("the compressed JSON of a chunk does not end where it should")


def parsed(text: bytes) -> Any:
    """Return the value of a JSON text.

    Raises
    ------
    ValueError
        It is not JSON in UTF-8, or has NaN or an infinity.
    RecursionError
        It is nested too deep.
    """
    return json.loads(text.decode("utf-8"), parse_constant=_refused)


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number in JSON")
