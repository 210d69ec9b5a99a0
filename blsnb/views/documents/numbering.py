"""Numbers of models and instance names in messages about one run."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from typing import Generic, TypeVar

from blsnb.trace.events import ModelInfo
from blsnb.trace.spans import Trace

T = TypeVar("T", bound=Hashable)


class Numbers(Generic[T]):
    """Numbers of values, which stay the same while a trace grows or loses calls.

    Thread-safe: a number may remain unused, but two values never share one.
    """

    def __init__(self, *first: T) -> None:
        self._numbers = {value: number for number, value in enumerate(first)}
        self._next = itertools.count(len(first))

    def number(self, value: T) -> int:
        """Return the number of a value; a new value gets the next one."""
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers.setdefault(value, next(self._next))
        return known

    def listed(self) -> list[T | None]:
        """Return the values by number; None for a number without a value."""
        numbers = self._numbers.copy()
        values: list[T | None] = [None] * (1 + max(numbers.values(), default=-1))
        for value, number in numbers.items():
            values[number] = value
        return values


class Numbering:
    """Numbers of instance names and models in the messages about one run."""

    def __init__(self) -> None:
        self.instances = Numbers("")
        self.models: Numbers[ModelInfo] = Numbers()

    def of_models(self, trace: Trace) -> list[int]:
        """Return the number of each model of a trace."""
        return [self.models.number(model) for model in trace.models]
