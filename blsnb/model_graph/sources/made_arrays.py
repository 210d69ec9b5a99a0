"""Datatype and shape of an array, from the call that makes it."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

import numpy as np

from blsnb.model_graph.sources.source import Source
from blsnb.tensors.dtypes import Shape, of_array


class MadeArray(NamedTuple):
    """An array that a call makes.

    Parameters
    ----------
    datatype
        Such as ``"FP32"``; empty if unknown.
    shape
        None if unknown.
    """

    datatype: str = ""
    shape: Shape | None = None


class _Maker(NamedTuple):
    """Positions of the arguments of a function of NumPy, and its default type."""

    dtype_at: int
    has_shape: bool
    default: str = ""


_MAKERS = {
    "zeros": _Maker(1, True, "FP64"),
    "ones": _Maker(1, True, "FP64"),
    "empty": _Maker(1, True, "FP64"),
    "full": _Maker(2, True),
    "array": _Maker(1, False),
    "asarray": _Maker(1, False),
}
_BUILTIN = ("bool", "int", "float", "object", "bytes")
_NUMBERS = "biuf"
"""Kinds of NumPy's types whose default for a literal is the one of the array."""


def made_array(call: ast.Call, source: Source) -> MadeArray:
    """Return what is known of the array that a call of a library makes."""
    words = {word.arg: word.value for word in call.keywords}
    maker = _numpy_maker(call, source)
    if maker is None or any(isinstance(each, ast.Starred) for each in call.args):
        return MadeArray(_datatype_in(words, source))
    if len(call.args) > maker.dtype_at:
        words["dtype"] = call.args[maker.dtype_at]
    first = call.args[0] if call.args else words.get("shape")
    if maker.has_shape:
        made = MadeArray(maker.default, None if first is None else literal_shape(first))
    else:
        made = MadeArray() if first is None else _literal_array(first)
    is_typed = "dtype" in words or None in words
    return MadeArray(
        _datatype_in(words, source) if is_typed else made.datatype, made.shape
    )


def _numpy_maker(call: ast.Call, source: Source) -> _Maker | None:
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr=function):
            if source.imported_module(name) == "numpy":
                return _MAKERS.get(function)
    return None


def _datatype_in(words: dict[str | None, ast.expr], source: Source) -> str:
    return datatype_of(words["dtype"], source) if "dtype" in words else ""


def _literal_array(node: ast.expr) -> MadeArray:
    value = _literal(node)
    try:
        array = None if value is None else np.array(value)
    except (ValueError, OverflowError):
        return MadeArray()
    if array is None or array.dtype.kind == "O":
        return MadeArray()
    row = of_array(array.dtype) if array.dtype.kind in _NUMBERS else None
    return MadeArray("" if row is None else row.datatype, array.shape)


def datatype_of(node: ast.expr, source: Source) -> str:
    """Return the data type of ``np.float32``, ``"float32"`` or ``object``.

    A variable has an unknown type, even one that is named like a type.
    """
    match node:
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            is_type = source.imported_module(module) != ""
        case ast.Name(id=name):
            is_type = name in _BUILTIN or source.imported_from(name) == "numpy"
        case ast.Constant(value=str(name)):
            is_type = True
        case _:
            return ""
    try:
        row = of_array(np.dtype(name.rstrip("_"))) if is_type else None
    except TypeError:
        return ""
    return "" if row is None else row.datatype


def literal_shape(node: ast.expr) -> Shape | None:
    """Return the shape that a literal names; None for other expressions."""
    value = _literal(node)
    sizes = (value,) if isinstance(value, int) else value
    if not isinstance(sizes, tuple | list):
        return None
    return tuple(sizes) if all(isinstance(size, int) for size in sizes) else None


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
