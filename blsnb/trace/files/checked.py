"""Checked values of untrusted JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
NS = 1 << 62
"""Upper limit of times, so that their differences fit in 64 bits."""


class Malformed(ValueError):
    """A value is not valid at its position."""


def _shown(value: Any) -> str:
    return repr(value)[:60]


def array(value: Any) -> list[Any]:
    """Return a list of unchecked elements."""
    if not isinstance(value, list):
        raise Malformed(f"a list, not {_shown(value)}")
    return value


def integer(value: Any, low: int, high: int) -> int:
    """Return an integer from ``low`` to ``high``."""
    if type(value) is not int or not low <= value <= high:
        expected = f"a number from {low} to {high}" if low <= high else "no number"
        raise Malformed(f"{expected}, not {_shown(value)}")
    return value


def text(value: Any) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise Malformed(f"a string, not {_shown(value)}")
    return value


def optional_text(value: Any) -> str | None:
    """Return a string, or None."""
    return None if value is None else text(value)


def flag(value: Any) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise Malformed(f"true or false, not {_shown(value)}")
    return value


def listed(value: Any, each: Callable[[Any], T]) -> tuple[T, ...]:
    """Return the elements of a list, each converted by a function."""
    return tuple([each(element) for element in array(value)])


def row(value: Any, length: int) -> list[Any]:
    """Return a list of ``length`` unchecked elements."""
    found = array(value)
    if len(found) != length:
        raise Malformed(f"a list of {length}, not {_shown(value)}")
    return found


def table(value: Any) -> dict[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise Malformed(f"an object, not {_shown(value)}")
    return value


def part(whole: dict[str, Any], name: str) -> Any:
    """Return a required member of an object."""
    if name not in whole:
        raise Malformed(f"no {name!r}")
    return whole[name]
