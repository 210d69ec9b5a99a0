"""Import and export tensors by DLPack capsules, including BF16, which NumPy lacks."""

from __future__ import annotations

import ctypes
import operator
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
_NO_DLPACK = (
    "Provided tensor is not supported. Tensor must be a DLPack capsule         "
    "or have `__dlpack__` and `__dlpack_device__` attributes"
)
_UINT = 1
_BFLOAT = 4
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
"""NumPy's kinds by DLPack's type codes."""


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


class _DLTensor(ctypes.Structure):
    """The descriptive part of a managed tensor.

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
    """A capsule's description of its memory."""

    dtype: DType
    shape: Shape
    device: tuple[int, int]
    """Kind and number."""


class Imported(NamedTuple):
    """A producer's memory as an array, and its type."""

    array: np.ndarray[Any, Any]
    """The elements without a copy; BF16 as the uint16 of their bits."""
    dtype: DType


class DLPackError(Exception):
    """A capsule cannot be imported; the text is Triton's."""


class DeviceCastError(Exception):
    """A producer's device is not a pair of whole numbers."""


class Holder:
    """Presents a bare capsule to a library that imports only objects with one.

    Parameters
    ----------
    device
        Kind and number of the device of its memory.
    """

    def __init__(self, capsule: Any, device: tuple[int, int] = (CPU, 0)) -> None:
        self._capsule = capsule
        self._device = device

    def __dlpack__(self, *_: Any, **__: Any) -> Any:
        """Return the capsule, whose contents are complete."""
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device."""
        return self._device


def is_capsule(value: Any) -> bool:
    """Whether the value is a DLPack capsule that was not imported yet."""
    return type(value).__name__ == "PyCapsule" and bool(_is_valid(value, b"dltensor"))


def is_on_cuda(producer: Any) -> bool:
    """Whether the memory of a capsule or another producer is on a CUDA device.

    Raises
    ------
    DLPackError
        The value is not a producer, or its device is of another kind.
    DeviceCastError
        The producer's device is not a kind and a number.
    """
    if is_capsule(producer):
        return bool(_tensor(producer).device.type == CUDA)
    if not (hasattr(producer, "__dlpack__") and hasattr(producer, "__dlpack_device__")):
        raise DLPackError(_NO_DLPACK)
    kind = _kind_of(producer.__dlpack_device__())
    _check_kind(kind)
    return kind == CUDA


def _kind_of(device: Any) -> int:
    try:
        kind, number = map(operator.index, device)
    except (TypeError, ValueError):
        raise DeviceCastError from None
    if not (-(2**31) <= kind < 2**31 and -(2**63) <= number < 2**63):
        raise DeviceCastError
    return kind


def _check_kind(kind: int) -> None:
    if kind not in (CPU, CUDA, CUDA_HOST):
        raise DLPackError(f"DLDevice type {kind} is not support by Python backend.")


def capsule_of(producer: Any) -> Any:
    """Return a producer's capsule of host memory, or a capsule itself.

    Raises
    ------
    DLPackError
        The capsule was imported before, or is not one of DLPack.
    """
    if is_capsule(producer):
        return producer
    capsule = producer.__dlpack__(stream=None)
    kind = type(capsule).__name__
    if kind != "PyCapsule":
        raise TypeError(f"Object of type '{kind}' is not an instance of 'capsule'")
    if not is_capsule(capsule):
        raise DLPackError(_NO_DLPACK)
    return capsule


def _tensor(capsule: Any) -> _DLTensor:
    return _DLTensor.from_address(_pointer(capsule, b"dltensor"))


def describe(capsule: Any) -> Described:
    """Return a capsule's description, and relabel its BF16 as uint16.

    So a library without BF16 can import it: the memory is the same.

    Raises
    ------
    DLPackError
        The elements are not in C order, on a device of an unknown kind, or of a type
        that Triton does not have.
    """
    tensor = _tensor(capsule)
    if not _is_c_order(tensor):
        raise DLPackError(
            "DLPack tensor is not contiguous. Only contiguous DLPack tensors that are "
            "stored in C-Order are supported."
        )
    _check_kind(tensor.device.type)
    dtype = _dtype_of(tensor.dtype)
    if dtype is BF16:
        tensor.dtype.code = _UINT
    shape = tuple(tensor.shape[: tensor.ndim])
    return Described(dtype, shape, (tensor.device.type, tensor.device.id))


def _dtype_of(described: _DataType) -> DType:
    code, bits = described.code, described.bits
    if described.lanes == 1 and code == _BFLOAT:
        if bits != 16:
            raise DLPackError(f"Expected BF16 tensor to have 16 bits, but had: {bits}")
        return BF16
    if described.lanes == 1 and bits % 8 == 0:
        for dtype, row in BY_NUMPY.items():
            if (dtype.kind, dtype.itemsize) == (_KINDS.get(code), bits // 8):
                return row
    raise DLPackError("Dtype is invalid.")


def import_capsule(capsule: Any) -> Imported:
    """Import a capsule of host memory.

    Raises
    ------
    DLPackError
        The elements are on a device, not in C order, or of a type that Triton does
        not have.
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
    """Whether the elements are in C order.

    Stricter than Triton, which overlooks the outermost dimension and then reads
    the wrong elements.
    """
    shape = described.shape[: described.ndim]
    if not described.strides or 0 in shape:
        return True
    expected = 1
    for axis in reversed(range(described.ndim)):
        if shape[axis] > 1 and described.strides[axis] != expected:
            return False
        expected *= shape[axis]
    return True


def labelled(capsule: Any, dtype: DType) -> Any:
    """Return a capsule, relabelled from uint16 if its elements are BF16."""
    if dtype is BF16:
        _tensor(capsule).dtype.code = _BFLOAT
    return capsule


def set_device(capsule: Any, device: tuple[int, int]) -> None:
    """Set the device that a capsule names; a simulated one is in host memory."""
    described = _tensor(capsule).device
    described.type, described.id = device
