"""Conversions of unusual arguments, like functions compiled by pybind11."""

from __future__ import annotations

import contextlib
import operator
from typing import Any


class Mismatch(Exception):
    """An argument has a type that the compiled function does not accept."""


def as_int(value: Any) -> int:
    """Convert a number to an integer, also a NumPy scalar; refuse a Python float."""
    kind = type(value)
    if isinstance(value, float) or not (
        hasattr(kind, "__index__") or hasattr(kind, "__int__")
    ):
        raise Mismatch
    for convert in (operator.index, int):
        with contextlib.suppress(Exception):
            return convert(value)
    raise Mismatch


def as_text(value: Any) -> str:
    """Convert bytes, which are decoded as UTF-8, or a string of another class."""
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8")
    if not isinstance(value, str):
        raise Mismatch
    # The backend keeps characters, and never calls methods of a subclass.
    text = str.__str__(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Mismatch from None
    return text


def items(value: Any) -> list[Any]:
    """Return the items of a sequence of another class, such as an array.

    References
    ----------
    pybind11: include/pybind11/stl.h, list_caster::load
    """
    is_sequence = hasattr(type(value), "__getitem__")
    if not is_sequence or isinstance(value, str | bytes | dict):
        raise Mismatch
    return [value[number] for number in range(len(value))]
