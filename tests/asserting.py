"""Assertions that do not hold of nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def every(values: Iterable[object]) -> bool:
    """Tell whether all values are true, as `all` does; fail where there is none."""
    return all(some(values))


def some(values: Iterable[T]) -> Sequence[T]:
    """Return values as a sequence; fail where there is none."""
    found = list(values)
    assert found, "there is nothing to check; expected at least one element"
    return found
