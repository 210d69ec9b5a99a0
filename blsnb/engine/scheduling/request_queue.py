"""What waits in front of a model that batches, and what its queue decides."""

from __future__ import annotations

import contextvars
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.instance.slot import PoolSlot
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.scheduling.batching.batch import Queued
from blsnb.engine.threads.waiter import Waiter
from blsnb.pb_utils.message import ResponseMessage


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request between its arrival and the end of its execution."""

    inflight: Inflight
    context: contextvars.Context | None = None
    """Context of a request of ``async_exec``, which a worker may execute; else None."""
    thread_id: int = field(default_factory=threading.get_ident)
    """Identifier of the thread that waits for it."""
    queued: Queued[PendingRequest] | None = None
    """Its entry in the queue."""
    waiter: Waiter = field(default_factory=Waiter)
    """Woken when the request is to lead a batch, was executed or was refused."""
    lead: Callable[[], None] | None = None
    """Executes the batch that this request leads."""
    others: Sequence[PendingRequest] = ()
    """Requests of its batch that its own thread wakes when it is woken."""
    left: bool = False
    """Whether the caller has given up."""
    executed: ModelInstance | ResponseMessage | None = None
    failure: BaseException | None = None
    """Why the batch was not executed."""

    @property
    def needs_worker(self) -> bool:
        """Whether a worker is to execute it, as its own thread would have to wake."""
        return self.context is not None and self.thread_id != threading.get_ident()

    def wake_others(self) -> None:
        """Wake the threads of the other requests."""
        others, self.others = self.others, ()
        for pending in others:
            pending.waiter.wake()


class ReadyBatch(NamedTuple):
    """A batch for one ``execute``.

    Parameters
    ----------
    inflights
        The requests, including null requests, which no client sent.
    members
        The requests that clients sent.
    source
        The queue's own record of the batch.
    number
        Number of the execution.
    """

    inflights: list[Inflight]
    members: list[PendingRequest]
    place: PoolSlot
    source: Any
    number: int


class QueueDecision(NamedTuple):
    """What to do now.

    Parameters
    ----------
    refused
        Requests, each with text and code of its error.
    wake_ns
        When to decide again if nothing happens before.
    """

    batches: Sequence[ReadyBatch]
    refused: Sequence[tuple[PendingRequest, str, str]]
    wake_ns: int | None


class Queue(ABC):
    """A batcher of requests in flight."""

    preserve_ordering = False
    """Whether responses are delivered in the order of the requests."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of waiting requests."""

    @abstractmethod
    def add(self, pending: PendingRequest, now_ns: int) -> None:
        """Append a request; raise RequestError to refuse it."""

    @abstractmethod
    def decide(self, now_ns: int) -> QueueDecision:
        """Return what to do after any change."""

    @abstractmethod
    def remove(self, pending: PendingRequest) -> None:
        """Remove a request whose caller has given up."""

    def done(self, batch: ReadyBatch, now_ns: int) -> list[PendingRequest]:
        """Note the end of an execution; return the requests to execute again."""
        return []

    def fill(self, staged: ReadyBatch, now_ns: int) -> ReadyBatch | None:
        """Return what an admitted execution runs; None if nothing is left."""
        return staged

    def resized(self) -> None:  # noqa: B027 - a model may be reloaded instead
        """Adapt to a changed number of instances in the pool."""
