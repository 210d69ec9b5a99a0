"""Tensors in and out by DLPack capsules; BF16 included, which NumPy does not know."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from blsnb.tensors.dtypes import BF16, BY_NUMPY, DType

CPU = 1
CUDA = 2
CUDA_HOST = 3
_BFLOAT = 4
_UINT = 1


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


class _DLTensor(ctypes.Structure):
    """The part of a managed tensor that describes it.

    References
    ----------
    dlpack: include/dlpack/dlpack.h, DLTensor
    """

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Imported(NamedTuple):
    """A producer's memory, seen as an array of ours, and its type."""

    array: np.ndarray[Any, Any]
    """The elements without a copy; BF16 as the uint16 of their bits."""
    dtype: DType


class DLPackError(Exception):
    """A capsule cannot be taken; the text is Triton's."""


class _Holder:
    """Gives a bare capsule to NumPy, which takes only objects that have one."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (CPU, 0)


def is_capsule(value: Any) -> bool:
    """Whether the value is a DLPack capsule that nobody has taken yet."""
    return type(value).__name__ == "PyCapsule" and bool(_is_valid(value, b"dltensor"))


def _describe(capsule: Any) -> _DLTensor:
    address = _pointer(capsule, b"dltensor")
    return _DLTensor.from_address(address)


def import_capsule(capsule: Any) -> Imported:
    """Take a capsule of host memory.

    Raises
    ------
    DLPackError
        Its elements are not in C order, or of a type that Triton has not.
    """
    described = _describe(capsule)
    if not _is_c_order(described):
        raise DLPackError(
            "DLPack tensor is not contiguous. Only contiguous DLPack tensors that are "
            "stored in C-Order are supported."
        )
    bfloat = described.dtype.code == _BFLOAT and described.dtype.bits == 16
    if bfloat:
        # NumPy refuses the type code only; the memory is taken as it is.
        described.dtype.code = _UINT
    try:
        array = np.from_dlpack(_Holder(capsule))
    except (BufferError, RuntimeError) as error:
        raise DLPackError("Dtype is invalid.") from error
    dtype = BF16 if bfloat else BY_NUMPY.get(array.dtype)
    if dtype is None:
        raise DLPackError("Dtype is invalid.")
    return Imported(array, dtype)


def _is_c_order(described: _DLTensor) -> bool:
    """Whether the elements lie in C order.

    Stricter than Triton, which overlooks the outermost dimension and then reads
    the wrong elements.
    """
    if not described.strides:
        return True
    if 0 in described.shape[: described.ndim]:
        return True
    expected = 1
    for axis in reversed(range(described.ndim)):
        length = described.shape[axis]
        if length > 1 and described.strides[axis] != expected:
            return False
        expected *= max(length, 1)
    return True


def export_capsule(array: np.ndarray[Any, Any], dtype: DType) -> Any:
    """Return a capsule of a writable array's memory, without a copy.

    Parameters
    ----------
    array
        The elements; for BF16 the uint16 of their bits.
    """
    capsule = array.__dlpack__()
    if dtype is BF16:
        _describe(capsule).dtype.code = _BFLOAT
    return capsule
