"""The table of tensor types and their four spellings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Shape = tuple[int, ...]


class DType(NamedTuple):
    """The names of one type in configurations, requests, the backend and NumPy."""

    data_type: str
    """Configuration: ``"TYPE_FP32"``."""
    datatype: str
    """Wire and trace: ``"FP32"``."""
    triton_dtype: int
    """The backend's number: ``11``."""
    dtype: np.dtype[Any] | None
    """NumPy's type; None for BF16, which NumPy does not have."""
    byte_size: int
    """Bytes of an element; 0 for BYTES, whose elements vary."""


def _row(datatype: str, triton_dtype: int, numpy_name: str, byte_size: int) -> DType:
    data_type = "TYPE_STRING" if datatype == "BYTES" else f"TYPE_{datatype}"
    dtype = np.dtype(numpy_name) if numpy_name else None
    return DType(data_type, datatype, triton_dtype, dtype, byte_size)


DTYPES: tuple[DType, ...] = (
    _row("BOOL", 1, "bool", 1),
    _row("UINT8", 2, "uint8", 1),
    _row("UINT16", 3, "uint16", 2),
    _row("UINT32", 4, "uint32", 4),
    _row("UINT64", 5, "uint64", 8),
    _row("INT8", 6, "int8", 1),
    _row("INT16", 7, "int16", 2),
    _row("INT32", 8, "int32", 4),
    _row("INT64", 9, "int64", 8),
    _row("FP16", 10, "float16", 2),
    _row("FP32", 11, "float32", 4),
    _row("FP64", 12, "float64", 8),
    _row("BYTES", 13, "object", 0),
    _row("BF16", 14, "", 2),
)

BY_DATA_TYPE: dict[str, DType] = {row.data_type: row for row in DTYPES}
BY_DATATYPE: dict[str, DType] = {row.datatype: row for row in DTYPES}
BY_NUMPY: dict[np.dtype[Any], DType] = {
    row.dtype: row for row in DTYPES if row.dtype is not None
}
BYTES = BY_DATATYPE["BYTES"]
BF16 = BY_DATATYPE["BF16"]


def of_array(dtype: np.dtype[Any]) -> DType | None:
    """Return the row of a NumPy dtype, or None if Triton has no such type.

    Byte strings (``S<n>``) are sent as BYTES; only the machine's own byte order has
    rows.
    """
    return BYTES if dtype.kind == "S" else BY_NUMPY.get(dtype)
