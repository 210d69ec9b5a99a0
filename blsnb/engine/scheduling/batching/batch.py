"""Requests that wait, batches of them, and the decisions of a batcher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

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


class Cause(StrEnum):
    """The kinds of reasons, as a table of counts names them."""

    LARGEST_SIZE = "largest size reached"
    PREFERRED_SIZE = "preferred size reached"
    DELAY_OVER = "delay over"
    INSTANCE_FREE = "instance free"
    SLOTS_FILLED = "slots filled"
    NOT_BATCHING = "the model does not batch"
    TOO_LARGE = "too large together"
    SHAPE_DIFFERS = "shape differs"
    OTHER_INPUTS = "other inputs"
    BEHIND_ANOTHER = "behind one that did not fit"
    BATCH_HAD_LEFT = "the batch had left"
    ONE_AT_A_TIME = "one at a time of its sequence"
    BACKLOG = "no slot for its sequence"


class Reason(NamedTuple):
    """Why a batch left when it did, or why a request did not leave with it."""

    cause: Cause
    words: str
    """The same with its numbers and names."""


class Batch(NamedTuple, Generic[T]):
    """Requests for one ``execute``.

    Parameters
    ----------
    sent_because
        Why it left now and with no more than these.
    left_out
        Who stood behind it and was not taken, each with the reason; the
        first few dozen where many wait.
    """

    members: tuple[Queued[T], ...]
    sent_because: Reason
    left_out: tuple[tuple[Queued[T], Reason], ...] = ()


class Decision(NamedTuple, Generic[T]):
    """What to do now.

    Parameters
    ----------
    batches
        To be started now, each on one idle instance.
    rejected
        To be answered with ``Request timeout expired``, status UNAVAILABLE.
    cancelled
        Left the queue because nobody wants them.
    wake_ns
        When to ask again if nothing else happens; None for not before something does.
    """

    batches: tuple[Batch[T], ...] = ()
    rejected: tuple[Queued[T], ...] = ()
    cancelled: tuple[Queued[T], ...] = ()
    wake_ns: int | None = None
