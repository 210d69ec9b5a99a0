"""Tensors in and out by DLPack capsules; BF16 included, which NumPy does not know."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from blsnb.tensors.dtypes import BF16, BY_NUMPY, DType, Shape

CPU = 1
CUDA = 2
CUDA_HOST = 3
_NO_GPU = (
    "DLPack capsule passed pointer to memory allocated on GPU device,           "
    "when GPU is not available"
)
_UINT = 1
_BFLOAT = 4
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
"""DLPack's codes of types, as NumPy names their kinds."""


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


class Described(NamedTuple):
    """What a capsule says of its memory."""

    dtype: DType
    shape: Shape
    device: tuple[int, int]
    """Kind and number."""


class Imported(NamedTuple):
    """A producer's memory, seen as an array of ours, and its type."""

    array: np.ndarray[Any, Any]
    """The elements without a copy; BF16 as the uint16 of their bits."""
    dtype: DType


class DLPackError(Exception):
    """A capsule cannot be taken; the text is Triton's."""


class Holder:
    """Gives a bare capsule to a library that takes only objects that have one.

    Parameters
    ----------
    device
        Kind and number of the device where its memory is.
    """

    def __init__(self, capsule: Any, device: tuple[int, int] = (CPU, 0)) -> None:
        self._capsule = capsule
        self._device = device

    def __dlpack__(self, *_: Any, **__: Any) -> Any:
        """Return the capsule; who made it has waited for its contents."""
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device."""
        return self._device


def is_capsule(value: Any) -> bool:
    """Whether the value is a DLPack capsule that nobody has taken yet."""
    return type(value).__name__ == "PyCapsule" and bool(_is_valid(value, b"dltensor"))


def _describe(capsule: Any) -> _DLTensor:
    address = _pointer(capsule, b"dltensor")
    return _DLTensor.from_address(address)


def device_of(capsule: Any) -> tuple[int, int]:
    """Return kind and number of the device where a capsule's memory is."""
    device = _describe(capsule).device
    return device.type, device.id


def describe(capsule: Any) -> Described:
    """Return what a capsule says; from then on it says uint16 for BF16.

    So can be taken what a library does not know: the memory is the same.

    Raises
    ------
    DLPackError
        Its elements are not in C order, or of a type that Triton has not.
    """
    tensor = _describe(capsule)
    if not _is_c_order(tensor):
        raise DLPackError(
            "DLPack tensor is not contiguous. Only contiguous DLPack tensors that are "
            "stored in C-Order are supported."
        )
    dtype = _dtype_of(tensor.dtype)
    if dtype is BF16:
        tensor.dtype.code = _UINT
    shape = tuple(tensor.shape[: tensor.ndim])
    return Described(dtype, shape, (tensor.device.type, tensor.device.id))


def _dtype_of(found: _DataType) -> DType:
    if found.code == _BFLOAT and found.bits == 16 and found.lanes == 1:
        return BF16
    kind, size = _KINDS.get(found.code), found.bits // 8
    dtype = None
    if kind is not None and found.lanes == 1 and found.bits % 8 == 0:
        known = (row for row in BY_NUMPY if (row.kind, row.itemsize) == (kind, size))
        dtype = next(known, None)
    if dtype is None:
        raise DLPackError("Dtype is invalid.")
    return BY_NUMPY[dtype]


def import_capsule(capsule: Any) -> Imported:
    """Take a capsule of host memory.

    Raises
    ------
    DLPackError
        Its elements are not in C order, of a type that Triton has not, or on a
        device.
    """
    described = describe(capsule)
    if described.device[0] == CUDA:
        raise DLPackError(_NO_GPU)
    try:
        array = np.from_dlpack(Holder(capsule))
    except (BufferError, RuntimeError) as error:
        raise DLPackError("Dtype is invalid.") from error
    return Imported(array, described.dtype)


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
        mark_bf16(capsule)
    return capsule


def mark_bf16(capsule: Any) -> None:
    """Let a capsule of uint16 say that they are the bits of BF16."""
    _describe(capsule).dtype.code = _BFLOAT


def place_on(capsule: Any, device: tuple[int, int]) -> None:
    """Let a capsule say that its memory is on a device, where that is simulated."""
    described = _describe(capsule).device
    described.type, described.id = device
