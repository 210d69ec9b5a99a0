"""Tensors of requests and responses as rows of a run file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from blsnb.recorder.stub.settings import matches
from blsnb.trace.files.v2.chunks import json_float

if TYPE_CHECKING:
    from collections.abc import Iterable

    from blsnb.recorder.stub.settings import RecorderSettings

_DATATYPES = {
    "b1": "BOOL",
    "u1": "UINT8",
    "u2": "UINT16",
    "u4": "UINT32",
    "u8": "UINT64",
    "i1": "INT8",
    "i2": "INT16",
    "i4": "INT32",
    "i8": "INT64",
    "f2": "FP16",
    "f4": "FP32",
    "f8": "FP64",
}
"""Triton's data types by kind and item size of a NumPy type."""
_DLPACK = {(4, 16): "BF16", (2, 16): "FP16", (2, 32): "FP32", (2, 64): "FP64"}
_DLPACK.update({(0, bits): f"INT{bits}" for bits in (8, 16, 32, 64)})
_DLPACK.update({(1, bits): f"UINT{bits}" for bits in (8, 16, 32, 64)})
_DLPACK[(6, 8)] = "BOOL"
"""Triton's data types by DLPack's code and number of bits."""
_DLPACK_TYPE = 20
"""Offset of the data type in DLPack's tensor."""
_SAMPLED = 1 << 16
"""Maximum number of elements from which statistics are computed."""


class TensorRow(NamedTuple):
    """A tensor as the columns of a ``TENS`` chunk."""

    name: str
    datatype: str
    shape: list[int]
    device: str
    byte_size: int | None
    data: bytes | None
    statistics: dict[str, Any] | None
    redacted: bool


def tensor_rows(tensors: Iterable[Any], settings: RecorderSettings) -> list[TensorRow]:
    """Return tensors of the Python backend as rows, with copies of their values."""
    return [_row(tensor, settings) for tensor in tensors]


def _row(tensor: Any, settings: RecorderSettings) -> TensorRow:
    name = tensor.name()
    if not tensor.is_cpu():
        return _without_value(tensor, name, settings)
    try:
        array = tensor.as_numpy()
    except Exception:
        # NumPy has no type for BF16.
        return _without_value(tensor, name, settings)
    redacted = bool(settings.redact_tensors) and matches(name, settings.redact_tensors)
    kind = array.dtype.kind
    shape = list(array.shape)
    if kind in "OS":
        return _bytes_row(name, shape, array, redacted, settings)
    datatype = _DATATYPES[kind + str(array.dtype.itemsize)]
    size = array.nbytes
    if redacted:
        return TensorRow(name, datatype, shape, "cpu", size, None, None, True)
    if size > settings.tensor_bytes:
        facts = _statistics(array)
        return TensorRow(name, datatype, shape, "cpu", size, None, facts, False)
    return TensorRow(name, datatype, shape, "cpu", None, array.tobytes(), None, False)


def _bytes_row(
    name: str, shape: list[int], array: Any, redacted: bool, settings: RecorderSettings
) -> TensorRow:
    if redacted:
        return TensorRow(name, "BYTES", shape, "cpu", None, None, None, True)
    parts = []
    size = 0
    for item in array.ravel().tolist():
        text = item if type(item) is bytes else str(item).encode()
        size += 4 + len(text)
        if size <= settings.tensor_bytes:
            parts += [len(text).to_bytes(4, "little"), text]
    if size > settings.tensor_bytes:
        facts = {"elements": array.size}
        return TensorRow(name, "BYTES", shape, "cpu", size, None, facts, False)
    return TensorRow(name, "BYTES", shape, "cpu", None, b"".join(parts), None, False)


def _statistics(array: Any) -> dict[str, Any]:
    """Return statistics of an array, computed from at most `_SAMPLED` elements."""
    flat = array.reshape(-1)
    sample = flat[:: flat.size // _SAMPLED + 1].astype("f8")
    return {
        "elements": flat.size,
        "sampled": sample.size,
        "min": json_float(float(sample.min())),
        "max": json_float(float(sample.max())),
        "mean": json_float(float(sample.mean())),
        "std": json_float(float(sample.std())),
    }


def _without_value(tensor: Any, name: str, settings: RecorderSettings) -> TensorRow:
    kind, number = tensor.__dlpack_device__()
    device = "cpu" if kind == 1 else f"gpu:{number}"
    redacted = bool(settings.redact_tensors) and matches(name, settings.redact_tensors)
    shape = list(tensor.shape())
    return TensorRow(name, _dlpack_type(tensor), shape, device, 0, None, None, redacted)


def _dlpack_type(tensor: Any) -> str:
    """Return the data type of a tensor without copying its value."""
    # Imported here: few models need it, and some Pythons are built without it.
    import ctypes

    capsule = tensor.to_dlpack()
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    pointer = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
    address = pointer(capsule, b"dltensor")
    code = ctypes.c_uint8.from_address(address + _DLPACK_TYPE).value
    bits = ctypes.c_uint8.from_address(address + _DLPACK_TYPE + 1).value
    return _DLPACK.get((code, bits), "")
