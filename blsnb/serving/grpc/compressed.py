"""Compressed gRPC messages, decompressed and parsed within a memory limit.

gRPC's own decompression has no limit, so it is switched off. The first bytes show
whether a message is compressed: no protobuf message begins like gzip; one that begins
like zlib may be plain, but is then not a complete zlib stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from blsnb.files.read_budget import Inflated, ReadBudget

_GZIP, _ZLIB = b"\x1f\x8b", b"\x78"
_FIELD_BYTES = 256
"""Bytes of memory for a field that is a message, parsed and as Python objects."""
_NUMBER_BYTES = 16
"""Bytes of memory for each byte of packed numbers."""
_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_CONTINUES, _MAX_VARINT_BYTES = 0x80, 10


class _Field(NamedTuple):
    """A field of a message in wire format."""

    number: int
    data: memoryview
    """The content of a field with a length; otherwise empty."""


def decompressed(data: bytes, descriptor: Any) -> bytes:
    """Return a message without its compression, if it has one.

    Parameters
    ----------
    descriptor
        Descriptor of the protobuf message, to count the objects of nested messages.

    Raises
    ------
    ReadLimitError
        The message, decompressed and parsed, would take too much memory.
    ValueError
        The gzip stream is damaged.
    """
    gzip = data.startswith(_GZIP)
    if not gzip and not data.startswith(_ZLIB):
        return data
    budget = ReadBudget(len(data), "the compressed message")
    stream = Inflated(data)
    message = budget.read(stream)
    if stream.whole:
        _spend_fields(memoryview(message), descriptor, budget)
        return message
    if gzip:
        raise ValueError("a damaged gzip stream")
    return data


def _spend_fields(data: memoryview, descriptor: Any, budget: ReadBudget) -> None:
    """Count the memory that parsing a message will allocate."""
    known = {} if descriptor is None else descriptor.fields_by_number
    for field in _fields(data):
        kind = known.get(field.number)
        nested = None if kind is None else kind.message_type
        if nested is not None:
            budget.spend(_FIELD_BYTES)
            _spend_fields(field.data, nested, budget)
        elif kind is not None and kind.type in (kind.TYPE_BYTES, kind.TYPE_STRING):
            budget.spend(_FIELD_BYTES // 4 + len(field.data))
        else:
            budget.spend(_NUMBER_BYTES * max(1, len(field.data)))


def _fields(data: memoryview) -> Iterator[_Field]:
    """Yield fields up to the first invalid one, which parsing refuses."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        start = at
        if kind == _VARINT:
            _, at = _varint(data, at)
        elif kind == _DELIMITED:
            length, start = _varint(data, at)
            at = start + length
        elif kind in _FIXED:
            at += _FIXED[kind]
        else:
            return
        yield _Field(tag >> 3, data[start:at] if kind == _DELIMITED else data[:0])


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return a number and its end; a truncated one ends with the data."""
    value = 0
    for shift, byte in enumerate(data[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & ~_CONTINUES) << 7 * shift
        if byte < _CONTINUES:
            return value, at + shift + 1
    return 0, len(data)
