"""Compressed gRPC messages, inflated and parsed within a limit.

gRPC's own inflation has none, so the port leaves messages as they were sent. That one
is compressed shows in its first bytes: no protobuf begins with those of gzip; one that
begins with those of zlib may, but is no complete zlib stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from blsnb.files.read_budget import Inflated, ReadBudget

_GZIP, _ZLIB = b"\x1f\x8b", b"\x78"
_FIELD_BYTES = 256
"""Memory of a field that is a message, parsed and as Python objects."""
_NUMBER_BYTES = 16
"""Memory for each byte of packed numbers."""
_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_MORE, _LONGEST = 0x80, 10


class _Field(NamedTuple):
    """A field of a message in wire format."""

    number: int
    data: memoryview
    """Its content, where that has a length; otherwise empty."""


def inflated(data: bytes, descriptor: Any) -> bytes:
    """Return a message as it was before compression; any other as it is.

    Parameters
    ----------
    descriptor
        Of the protobuf message, which tells nested messages from other fields.

    Raises
    ------
    ReadLimitError
        Inflated and parsed it would take too much memory.
    ValueError
        It begins as gzip and is damaged.
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
    """Count what parsing a message allocates, before it is parsed."""
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
    """Yield fields up to the first that is invalid; parsing refuses that one."""
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
    """Return a number and where it ends; a cut one ends the data."""
    value = 0
    for shift, byte in enumerate(data[at : at + _LONGEST]):
        value |= (byte & ~_MORE) << 7 * shift
        if byte < _MORE:
            return value, at + shift + 1
    return 0, len(data)
