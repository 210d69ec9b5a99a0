"""Vacancy: a place in a pool that has no instance; and who waits for a place."""

from __future__ import annotations

from collections.abc import Container
from typing import TypeAlias, final

from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.threads.waiter import Waiter


@final
class Vacancy:
    """The place of an instance that still runs for a request which has ended."""

    __slots__ = ("filled", "instance", "waiter")

    def __init__(self, instance: ModelInstance) -> None:
        self.instance = instance
        self.waiter = Waiter()
        """Woken when the instance comes back after all."""
        self.filled = False
        """Whether another one was made, so that the old one serves no more."""

    def has_come_back(self, left: Container[ModelInstance]) -> bool:
        """Tell whether the old one is kept for whoever has its place.

        Parameters
        ----------
        left
            The instances that are not back.
        """
        return not self.filled and self.instance not in left


Place: TypeAlias = ModelInstance | Vacancy
"""Where a request can be executed; to be filled first if it is vacant."""


class Waiting:
    """A request in the queue of a pool, and the place it is handed."""

    __slots__ = ("place", "waiter")

    def __init__(self) -> None:
        self.waiter = Waiter()
        self.place: Place | None = None
