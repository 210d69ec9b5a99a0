"""Queued requests, batches, and decisions of a batcher with their reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

B = TypeVar("B")
T = TypeVar("T")


class QueueFull(Exception):
    """A queue holds as many requests as its policy allows."""


@dataclass(eq=False, slots=True)
class Queued(Generic[T]):
    """A request in a queue.

    Parameters
    ----------
    request
        The scheduler's own record; opaque here.
    size
        First dimension of the inputs; 1 for a model that does not batch.
    shapes
        Shapes of the inputs by name, after reshape, without the batch axis.
    priority
        The request's; 0 means the model's default.
    timeout_us
        The request's; 0 means no timeout.
    cancelled
        Returns whether the client has cancelled the request.
    enqueued_ns
        Time of arrival, set by the batcher.
    deadline_ns
        When it expires, set by its queue; 0 means never.
    """

    request: T
    size: int
    shapes: Mapping[str, tuple[int, ...]]
    priority: int = 0
    timeout_us: int = 0
    # ``bool()`` is False, without a call of Python code.
    cancelled: Callable[[], bool] = bool
    enqueued_ns: int = 0
    deadline_ns: int = 0


class Cause(StrEnum):
    """Kinds of reasons, as tables of counts name them."""

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
    """Why a batch started when it did, or why a request was not part of it."""

    cause: Cause
    words: str
    """A sentence with numbers and names."""


class Batch(NamedTuple, Generic[T]):
    """Requests for one ``execute``.

    Parameters
    ----------
    sent_because
        Why it starts now and with no more requests.
    left_out
        The first waiting requests that are not part of it, each with the reason.
    """

    members: tuple[Queued[T], ...]
    sent_because: Reason
    left_out: tuple[tuple[Queued[T], Reason], ...] = ()


class Decision(NamedTuple, Generic[B, T]):
    """What to do now.

    Parameters
    ----------
    batches
        Batches to start, each on one idle instance.
    rejected
        Requests that have expired: to answer with status UNAVAILABLE.
    cancelled
        Requests to answer with status CANCELLED and no text.
    wake_ns
        When to decide again if nothing happens before; None: never.
    """

    batches: tuple[B, ...] = ()
    rejected: tuple[Queued[T], ...] = ()
    cancelled: tuple[Queued[T], ...] = ()
    wake_ns: int | None = None
