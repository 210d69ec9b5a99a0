"""Rows of Arrow data and Parquet files, read batch by batch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from blsnb.evaluation.rows.records import (
    Records,
    by_rows,
    check_column_names,
    rows_at_once,
)

_Array = np.ndarray[Any, Any]
_TAIL = 8
"""Bytes at the end of a Parquet file: the length of its footer and a signature."""


def arrow_records(data: Any) -> Records:
    """Return the rows of a ``pyarrow.Table`` or ``RecordBatch``.

    Raises
    ------
    ValueError
        Two columns have the same name.
    """
    check_column_names(data.schema.names, "the Arrow table")
    return Records(lambda: _rows(_parts(data)), data.num_rows)


def _parts(data: Any) -> Iterator[Any]:
    step = rows_at_once(data.nbytes / max(1, data.num_rows))
    for start in range(0, data.num_rows, step):
        yield data.slice(start, step)


def batch_records(reader: Any) -> Records:
    """Return the rows of a ``pyarrow.RecordBatchReader``, which is read only once.

    Raises
    ------
    ValueError
        Two columns have the same name.
    """
    check_column_names(reader.schema.names, "the Arrow table")

    def read() -> Iterator[dict[str, Any]]:
        for batch in reader:
            yield from _rows(_parts(batch))

    return Records(read, None)


def parquet_records(paths: Sequence[Path]) -> Records:
    """Return the rows of Parquet files, one file after the other.

    Raises
    ------
    ImportError
        pyarrow is not installed.
    ValueError
        A file is not a Parquet file, or has two columns with the same name.
    """
    total = sum(map(_row_count, paths))

    def read() -> Iterator[dict[str, Any]]:
        for path in paths:
            with _opened(path) as file:
                size = rows_at_once(_row_bytes(file.metadata))
                yield from _rows(file.iter_batches(batch_size=size))

    return Records(read, total, lambda: _parquet_digest(paths))


def _opened(path: Path) -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            f"reading {path.name} needs pyarrow: pip install 'blsnb[data]'"
        ) from None
    try:
        return pyarrow.parquet.ParquetFile(path, memory_map=True)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{str(path)!r} is not a Parquet file: {error}") from None


def _row_count(path: Path) -> int:
    with _opened(path) as file:
        check_column_names(file.schema_arrow.names, repr(str(path)))
        return int(file.metadata.num_rows)


def _row_bytes(metadata: Any) -> float:
    """Return the largest mean size of a row in a row group, in bytes."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    sizes = [group.total_byte_size / max(1, group.num_rows) for group in groups]
    return max(sizes, default=0)


def _parquet_digest(paths: Sequence[Path]) -> str:
    """Return a digest of the sizes and footers of files.

    A footer has the schema, and the statistics and positions of all values.
    """
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            size = file.seek(-_TAIL, 2) + _TAIL
            footer = int.from_bytes(file.read(4), "little")
            file.seek(-min(size, footer + _TAIL), 2)
            digest.update(f"{size} ".encode() + file.read())
    return digest.hexdigest()


def _rows(batches: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        names = batch.schema.names
        columns = [values(column) for column in batch.columns]
        yield from by_rows(dict(zip(names, columns, strict=True)))


def values(column: Any) -> list[Any]:
    """Return the elements of a column; those of nested columns are arrays."""
    # The column of a table has chunks.
    one = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    block = _block(one)
    flat = isinstance(block, list) or block.ndim == 1
    return list(block) if isinstance(block, list) or not flat else block.tolist()


def _block(column: Any) -> _Array | list[Any]:
    """Return a column as an array if its elements have one shape, else as a list.

    An array of numbers is masked where they are missing.
    """
    from pyarrow import compute, types

    kind = column.type
    if hasattr(column, "to_numpy_ndarray") and not column.null_count:
        tensor: _Array = column.to_numpy_ndarray()
        return tensor
    if hasattr(column, "storage"):
        return _block(column.storage)
    if types.is_dictionary(kind):
        return _block(column.dictionary_decode())
    if types.is_run_end_encoded(kind):
        return _block(compute.run_end_decode(column))
    if hasattr(kind, "value_type"):
        return _nested(column)
    numeric = types.is_integer(kind) or types.is_floating(kind)
    if not (numeric or types.is_boolean(kind)):
        elements: list[Any] = column.to_pylist()
        return elements
    if not column.null_count:
        numbers: _Array = column.to_numpy(zero_copy_only=False)
        return numbers
    missing = column.is_null().to_numpy(zero_copy_only=False)
    known = [each or 0 for each in column.to_pylist()]
    return np.ma.MaskedArray(known, missing, dtype=kind.to_pandas_dtype())


def _nested(column: Any) -> _Array | list[Any]:
    inner = _block(column.flatten())
    present = column.is_valid().to_numpy(zero_copy_only=False)
    lengths = np.where(present, column.value_lengths().fill_null(0), 0)
    same = lengths.size and present.all() and (lengths == lengths[0]).all()
    if same and type(inner) is np.ndarray:
        return inner.reshape(lengths.size, lengths[0], *inner.shape[1:])
    ends = np.cumsum(lengths).tolist()
    starts = [0, *ends[:-1]]
    return [
        stacked(inner[start:end]) if there else None
        for start, end, there in zip(starts, ends, present.tolist(), strict=True)
    ]


def stacked(part: _Array | list[Any]) -> _Array | list[Any]:
    """Join arrays of one shape; other elements stay as they are, missing ones None."""
    if isinstance(part, np.ma.MaskedArray):
        return part.tolist() if np.ma.is_masked(part) else part.data
    arrays = [each for each in part if isinstance(each, np.ndarray)]
    same = len(arrays) == len(part) and len({each.shape for each in arrays}) == 1
    return np.stack(arrays) if same else part
