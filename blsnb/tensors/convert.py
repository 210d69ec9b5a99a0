"""Convert the inputs of ``infer`` to frozen tensors; arrays are never cast."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import NoneType
from typing import Any

import numpy as np

from blsnb.arguments import plain
from blsnb.errors import InputError
from blsnb.tensors.dtypes import BF16, BYTES, DType, of_array
from blsnb.tensors.ref import TensorRef, freeze

_Array = np.ndarray[Any, Any]
_RAGGED = "its rows have different lengths"
_NONE = "an element is None"
_FOREIGN_KINDS = "mMcV"
"""Dates, durations, complex numbers and structures, which NumPy casts to numbers."""

_NO_TEXTS: tuple[Any, ...] = (Iterable, Callable)
"""Types whose texts are for people, such as a dict, a generator or a function."""


def to_ref(name: str, value: Any, dtype: DType | None, rank: int) -> TensorRef:
    """Freeze a value as the input of a request.

    Parameters
    ----------
    value
        An array, kept in its own type; or a list, a number or a string, converted
        to the type of the model's configuration.
    dtype
        The configured type; None if the configuration has no such input.
    rank
        Number of axes that the model expects; a scalar gets as many of length 1.

    Raises
    ------
    InputError
        Triton has no such type, or the values do not fit the configured one.
    """
    __tracebackhide__ = True
    if hasattr(value, "as_py"):
        # NumPy reads the buffer of an Arrow string as numbers.
        value = value.as_py()
    if value is None:
        raise InputError(f"input {name!r} is None; leave it out, or give it a value")
    if isinstance(value, TensorRef):
        return value.alias(name, value.shape)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        text = "has masked elements, which have no value; pass array.filled(…)"
        raise InputError(f"input {name!r} {text}")
    array = value if isinstance(value, np.ndarray) else _array(name, value, dtype, rank)
    if array.dtype.name == "bfloat16" or (dtype is BF16 and array.dtype == np.float32):
        return TensorRef(name, BF16, array.shape, _bf16_bytes(array))
    if array.dtype.kind == "U":
        array = array.astype(np.object_)
    found = of_array(array.dtype)
    if found is None:
        raise InputError(
            f"input {name!r}: Triton has no type for NumPy's {array.dtype}. Convert "
            "the array first, for example with array.astype(np.float32)."
        )
    try:
        return freeze(name, array, found)
    except UnicodeEncodeError as error:
        why = f"{error.object[error.start]!r} is half of a surrogate pair"
        raise _conversion_error(name, value, found, why) from None


def _bf16_bytes(array: _Array) -> bytes:
    """Return BF16 elements: those of ml_dtypes, or the upper halves of float32.

    References
    ----------
    tritonclient: utils, serialize_bf16_tensor
    """
    if array.dtype == np.float32:
        upper = np.ascontiguousarray(array).view(np.uint32) >> 16
        return upper.astype(np.uint16).tobytes()
    return array.tobytes()


def _array(name: str, value: Any, dtype: DType | None, rank: int) -> _Array:
    __tracebackhide__ = True
    try:
        if dtype is None:
            array = np.asarray(value)
        elif dtype is BYTES:
            array = _strings(value)
        else:
            array = _cast(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        why = _RAGGED if "inhomogeneous" in str(error) else str(error)
        raise _conversion_error(name, value, dtype, why) from None
    return array.reshape((1,) * rank) if array.ndim == 0 else array


def _strings(value: Any) -> _Array:
    """Return strings, bytes, and other plain values, whose text is sent."""
    rows = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(row, bytearray | memoryview) for row in rows):
        raise ValueError("its numbers would become texts: pass bytes")
    array = np.asarray(value, dtype=np.object_)
    kinds = {*map(type, array.ravel())}
    if NoneType in kinds:
        raise ValueError(_NONE)
    for kind in kinds:
        if issubclass(kind, list | tuple | np.ndarray):
            raise ValueError(_RAGGED)
        if issubclass(kind, _NO_TEXTS) and not issubclass(kind, str | bytes):
            raise ValueError(f"{kind.__name__} is not a string")
    if not kinds <= {str, bytes} and any(map(_is_missing, array.ravel())):
        raise ValueError("an element is missing")
    if np.bytes_ in kinds:
        # NumPy's text of them begins with "b'".
        array = np.vectorize(plain, otypes=[np.object_])(array)
    return array


def _is_missing(value: Any) -> bool:
    """Whether a value is NaN, pandas.NaT or pandas.NA, which has no truth value."""
    try:
        return bool(value != value)
    except TypeError:
        return True


def _cast(value: Any, dtype: DType) -> _Array:
    wanted = np.dtype(np.float32) if dtype is BF16 else dtype.dtype
    given = np.asarray(value)
    if given.dtype.kind in _FOREIGN_KINDS:
        raise TypeError(f"Triton has no type for NumPy's {given.dtype}")
    if _has_none(given):
        raise ValueError(_NONE)
    with np.errstate(all="ignore"):
        array = np.asarray(value, dtype=wanted)
        if _is_lossy(given, array):
            raise ValueError("values would be lost")
    return array


def _is_lossy(given: _Array, array: _Array) -> bool:
    """Whether the cast lost more than decimal places of a float."""
    if array.dtype.kind == "f":
        is_finite = np.isfinite(given.astype(np.float64))
        return bool((np.isinf(array) & is_finite).any())
    if array.dtype.kind in "iu" and given.dtype.kind in "SU":
        return False
    return not np.array_equal(array, given)


def _has_none(array: _Array) -> bool:
    """Whether an element is None, which NumPy casts to NaN, False or a text."""
    return array.dtype.kind == "O" and any(each is None for each in array.ravel())


def _conversion_error(
    name: str, value: Any, dtype: DType | None, why: str
) -> InputError:
    known = "of unknown type" if dtype is None else dtype.datatype
    wanted = "a tensor" if dtype is None else "it"
    return InputError(
        f"input {name!r} is {known}, and {type(value).__name__} "
        f"{str(value)[:60]!r} does not convert to {wanted}: {why}"
    )
