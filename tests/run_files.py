"""Run files for tests: chunks read one by one and made by hand, values compared."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable
from typing import Any

from blsnb.tensors.ref import TensorRef
from blsnb.trace.files.v2.chunks import (
    MAGIC,
    ChunkReader,
    FileChunk,
    json_pieces,
    packed,
    parsed,
)
from blsnb.trace.files.v2.tensor_columns import SummarisedTensor
from blsnb.trace.lazy.lazy_rows import LazyRows

HEAD = {"format": 2, "written_by": "blsnb 9.1", "run": "0001", "title": "m"}
DONE = {"taken_ns": 9, "left_out": [0, 0]}


def facts(value: Any) -> Any:
    """Return a value with tensors in a form that can be compared."""
    if isinstance(value, TensorRef):
        data = None if value.data is None else bytes(value.data)
        where: Any = value.device, value.byte_size
        if isinstance(value, SummarisedTensor):
            where = *where, value.statistics, value.redacted
        return value.name, value.dtype.datatype, value.shape, data, where
    if dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value)]
        return [facts(getattr(value, name)) for name in fields]
    if isinstance(value, tuple | list | LazyRows):
        return type(value).__name__ == "list", [facts(each) for each in value]
    if isinstance(value, dict):
        return {name: facts(each) for name, each in value.items()}
    return repr(value)


def chunks_of(data: bytes) -> list[FileChunk]:
    """Return the chunks of a complete file."""
    file = io.BytesIO(data)
    file.seek(len(MAGIC))
    reader = ChunkReader(file, len(data))
    found = []
    while (chunk := reader.read()) is not None:
        found.append(chunk)
    return found


def json_of(chunk: FileChunk) -> Any:
    """Return the JSON value of a chunk."""
    return parsed(b"".join(json_pieces(chunk)))


def file_of(chunks: Iterable[tuple[str, Any] | tuple[str, Any, bytes]]) -> bytes:
    """Return a file of chunks: each has a type, its JSON, and an optional body."""
    parts = [MAGIC]
    for number, (type, value, *body) in enumerate(chunks):
        parts += packed(type, number, value, body)
    return b"".join(parts)


def boundaries(data: bytes) -> list[int]:
    """Return the ends of the chunks of a complete file."""
    file = io.BytesIO(data)
    file.seek(len(MAGIC))
    reader = ChunkReader(file, len(data))
    found = []
    while reader.read() is not None:
        found.append(reader.offset)
    return found
