"""What Hypothesis makes up: tensors of every type, configurations, trees of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import new_message
from blsnb.tensors.dtypes import BF16, BYTES, DTYPES, DType

Array = np.ndarray[Any, Any]
Layout = Callable[[Array], Array]

_MAX_AXES = 4
_DEPTH = 4


def examples(count: int, **more: Any) -> settings:
    """Return the settings of a property with a number of examples.

    `make test` draws the share of them that `conftest.py` sets.
    """
    return settings(max_examples=count * settings.default.max_examples // 100, **more)


# Tensors ---------------------------------------------------------------------


def _strided(array: Array) -> Array:
    """Return every other element of a larger array."""
    larger = np.zeros([2 * length for length in array.shape], array.dtype)
    view = larger[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def _reversed(array: Array) -> Array:
    """Return an array with negative strides on every axis."""
    every = tuple(slice(None, None, -1) for _ in array.shape)
    return np.ascontiguousarray(array[every])[every]


def _transposed(array: Array) -> Array:
    return np.ascontiguousarray(array.swapaxes(0, -1)).swapaxes(0, -1)


def _misaligned(array: Array) -> Array:
    """Return an array at an odd address, as in a mapped file."""
    if array.dtype.hasobject:
        return array
    memory = np.zeros(array.nbytes + 1, np.uint8)
    view = np.ndarray(array.shape, array.dtype, memory, offset=1)
    view[...] = array
    return view


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


LAYOUTS: dict[str, Layout] = {
    "C order": lambda array: array,
    "Fortran order": np.asfortranarray,
    "transposed": _transposed,
    "strided": _strided,
    "negative strides": _reversed,
    "misaligned": _misaligned,
    "read-only": _read_only,
}


@st.composite
def tensors(draw: st.DrawFn, dtype: DType, axes: int) -> Array:
    """Draw tensors of any bits and layout, lengths of 0 included; BF16 as ml_dtypes."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=axes, max_size=axes)))
    size = int(np.prod(shape))
    if dtype is BYTES:
        array = draw(_texts(size))
    else:
        count = size * dtype.byte_size
        array = _of_bits(draw(st.binary(min_size=count, max_size=count)), dtype)
    array = array.reshape(shape)
    return draw(st.sampled_from(list(LAYOUTS.values())))(array) if shape else array


def _of_bits(bits: bytes, dtype: DType) -> Array:
    elements = np.frombuffer(bytearray(bits), np.uint8)
    if dtype.datatype == "BOOL":
        elements &= 1
    return elements.view(ml_dtypes.bfloat16 if dtype is BF16 else dtype.dtype)


def _texts(size: int) -> st.SearchStrategy[Array]:
    """Draw ``bytes`` and ``str`` objects, or NumPy's byte strings."""
    data = st.binary(max_size=8) | st.just(b"a\0b\0") | st.just(b"\xff\xfe")
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    own = st.lists(st.binary(max_size=5), min_size=size, max_size=size)
    mixed = st.lists(data | text, min_size=size, max_size=size)
    return own.map(lambda texts: np.array(texts, "S5")) | mixed.map(_objects)


def _objects(elements: list[Any]) -> Array:
    array = np.empty(len(elements), np.object_)
    array[:] = elements
    return array


def axes() -> st.SearchStrategy[int]:
    """Draw the number of axes; only responses may have tensors without axes."""
    return st.integers(1, _MAX_AXES)


def dtypes() -> st.SearchStrategy[DType]:
    """Draw every type that Triton has."""
    return st.sampled_from(DTYPES)


def bits_of(array: Array) -> Any:
    """Return shape and bits of a tensor, for comparisons."""
    if array.dtype.kind in "OS":
        elements = array.astype(object).ravel().tolist()
        found = [e.encode() if isinstance(e, str) else e for e in elements]
        return array.shape, found
    return array.shape, array.dtype.name, array.tobytes()


# Configurations --------------------------------------------------------------


def configs() -> st.SearchStrategy[ModelConfig]:
    """Draw any configuration that can be written, sensible or not."""
    return _messages(new_message().DESCRIPTOR, _DEPTH).map(_config)


def _config(fields: dict[str, Any]) -> ModelConfig:
    message = new_message()
    _fill(message, fields)
    return ModelConfig.of(message)


@st.composite
def _messages(draw: st.DrawFn, descriptor: Any, depth: int) -> dict[str, Any]:
    fields = [f for f in descriptor.fields if f.message_type is None or depth]
    if not fields:
        return {}
    chosen = draw(st.lists(st.sampled_from(fields), unique=True, max_size=5))
    return {field.name: draw(_values(field, depth)) for field in chosen}


def _values(field: Any, depth: int) -> st.SearchStrategy[Any]:
    one = _value(field, depth)
    if not field.is_repeated:
        return one
    if _is_map(field):
        key, value = field.message_type.fields
        return st.dictionaries(_value(key, 0), _value(value, depth - 1), max_size=2)
    return st.lists(one, max_size=2)


def _is_map(field: Any) -> bool:
    message = field.message_type
    return message is not None and message.GetOptions().map_entry


def _value(field: Any, depth: int) -> st.SearchStrategy[Any]:
    if field.message_type is not None:
        return st.deferred(lambda: _messages(field.message_type, depth - 1))
    if field.enum_type is not None:
        numbers = [value.number for value in field.enum_type.values]
        return st.sampled_from(numbers) | st.integers(-(2**31), 2**31 - 1)
    return _SCALARS[field.cpp_type](field)


def _integers(low: int, high: int) -> Callable[[Any], st.SearchStrategy[int]]:
    return lambda _: st.integers(low, high)


_SCALARS: dict[int, Callable[[Any], st.SearchStrategy[Any]]] = {
    1: _integers(-(2**31), 2**31 - 1),
    2: _integers(-(2**63), 2**63 - 1),
    3: _integers(0, 2**32 - 1),
    4: _integers(0, 2**64 - 1),
    5: lambda _: st.floats(allow_nan=False),
    6: lambda _: st.floats(allow_nan=False, width=32),
    7: lambda _: st.booleans(),
    9: lambda _: st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
}


def _fill(message: Any, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        field = message.DESCRIPTOR.fields_by_name[name]
        place = getattr(message, name)
        if _is_map(field):
            for key, each in value.items():
                if isinstance(each, dict):
                    _fill(place[key], each)
                else:
                    place[key] = each
        elif field.is_repeated:
            for each in value:
                if isinstance(each, dict):
                    _fill(place.add(), each)
                else:
                    place.append(each)
        elif isinstance(value, dict):
            place.SetInParent()
            _fill(place, value)
        else:
            setattr(message, name, value)


# Trees of calls --------------------------------------------------------------

CODES = ("INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "CANCELLED")
Node = dict[str, Any]


def call_trees(depth: int) -> st.SearchStrategy[Node]:
    """Draw a call as JSON: its responses, its calls, its handling of errors.

    ``how`` names the ways to call, ``many`` says whether any number of responses is
    expected.
    """
    return st.fixed_dictionaries(
        {
            **_call(depth),
            "how": st.sampled_from(["exec", "async_exec", "gather", "exec in async"]),
            "many": st.booleans(),
        }
    )


def _call(depth: int) -> dict[str, st.SearchStrategy[Any]]:
    return {
        "number": st.integers(0, 1000),
        "ends": st.sampled_from(["answer"] * 4 + ["error", "raise"]),
        "code": st.sampled_from(CODES),
        "on_error": st.sampled_from(["skip", "pass", "wrap", "raise"]),
        "calls": _calls(depth),
    }


def _streams(depth: int) -> st.SearchStrategy[Node]:
    """Draw a decoupled call: its first responses and how the last one is sent.

    It is not asynchronous: one that raises would never be answered.
    """
    return st.fixed_dictionaries(
        {
            **_call(depth),
            "how": st.just("exec"),
            "many": st.just(True),
            "sends": st.lists(st.sampled_from(["value", "value", "error"]), max_size=3),
            "flag": st.sampled_from(["with the last", "alone", "instead of the last"]),
        }
    )


def _calls(depth: int) -> st.SearchStrategy[list[Node]]:
    missing = st.fixed_dictionaries({"missing": st.just(True), "many": st.booleans()})
    if depth == 0:
        return st.lists(missing, max_size=1)
    deeper = st.deferred(lambda: call_trees(depth - 1))
    streams = st.deferred(lambda: _streams(depth - 1))
    return st.lists(st.one_of(deeper, deeper, streams, streams, missing), max_size=3)
