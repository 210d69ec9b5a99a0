"""Checks of all elements that fail for an empty collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def every(values: Iterable[object]) -> bool:
    """Return whether all values are true, as `all` does; fail without values."""
    return all(some(values))


def some(values: Iterable[T]) -> Sequence[T]:
    """Return values as a sequence; fail without values."""
    found = list(values)
    assert found, "there is nothing to check; expected at least one element"
    return found
