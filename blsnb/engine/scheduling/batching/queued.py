"""A request that waits to be executed, as a scheduler sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


class QueueFull(Exception):
    """A queue holds as many requests as its policy allows."""


def _always_wanted() -> bool:
    return False


@dataclass(eq=False, slots=True)
class Queued(Generic[T]):
    """One request and what decides its place.

    Parameters
    ----------
    request
        Whatever the caller wants back; never looked at.
    batch_size
        The first dimension; 1 for a model that does not batch.
    shapes
        The shape of every input by name: after reshape, without the batch dimension.
    priority
        As the request says; 0 is the model's default.
    timeout_us
        As the request says; 0 is none.
    cancelled
        Whether nobody wants the answer any more.
    enqueued_ns
        Since when it waits; the scheduler writes it.
    """

    request: T
    batch_size: int
    shapes: Mapping[str, tuple[int, ...]]
    priority: int = 0
    timeout_us: int = 0
    cancelled: Callable[[], bool] = _always_wanted
    enqueued_ns: int = 0

    @property
    def size(self) -> int:
        """What it adds to the size of a batch."""
        return max(1, self.batch_size)
