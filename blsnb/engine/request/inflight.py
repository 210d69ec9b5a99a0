"""Requests in flight, their callers, and executions."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection, Sequence
from contextvars import ContextVar
from typing import Protocol

from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.ordered_delivery import DeliveryTurn
from blsnb.engine.threads.waiter import Waiter
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.pb_utils.request import RELEASE_ALL, RESCHEDULE, InferenceRequest
from blsnb.pb_utils.response import InferenceResponse, is_unasked
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import Call


class RunningInstance(Protocol):
    """An instance of a model, as a node of the wait graph."""

    @property
    def name(self) -> str:
        """The name that Triton gives the instance."""

    @property
    def model_file(self) -> str:
        """Path of its model's file."""

    @property
    def execution(self) -> Execution | None:
        """The current ``execute``; None while the instance is free."""


class InstanceQueue(Protocol):
    """The instances of one model version, and the requests that wait for one."""

    @property
    def instances(self) -> Sequence[RunningInstance]:
        """All instances that serve the version."""

    def resource_holders(self) -> Sequence[RunningInstance]:
        """Return the holders of the rate-limit resources that the instances lack."""


class StepLog(Protocol):
    """The steps of one request of an ensemble."""

    @property
    def active(self) -> Collection[Inflight]:
        """The steps in flight."""

    def begin(self, step: Inflight) -> None:
        """Record the start of a step."""

    def end(self, step: Inflight) -> None:
        """Record the end of a step and its durations."""


class Inflight:
    """A request in flight: its caller, its execution, its response.

    It is the `Reply` of the request object that the model holds.
    """

    __slots__ = (
        "batch_size",
        "call",
        "cancelled",
        "dropped",
        "execution",
        "execution_size",
        "extra",
        "failed",
        "final",
        "held",
        "message",
        "numbers",
        "release_flags",
        "requested",
        "response",
        "root",
        "steps",
        "turn",
        "waiter",
        "waiting_for",
    )

    decoupled = False
    filler = False
    """Whether it is a null request, which only fills a slot of a batch."""

    def __init__(self, message: RequestMessage, root: RootRequest, call: Call) -> None:
        self.release_flags = RELEASE_ALL
        """The model's release flags for the request after ``execute``."""
        self.dropped = ""
        """Why it cannot be rescheduled, although the model set the flag for that."""
        self.batch_size = 1
        """Batch size: its first dimension if the model batches, else 1."""
        self.cancelled = False
        """Whether the BLS caller cancelled it."""
        self.message = message
        self.requested = message.requested_outputs
        """Names of the outputs to send: all configured ones by default."""
        self.root = root
        self.call = call
        self.numbers = call.numbers
        """Times of the call: late ones have no effect on a complete record."""
        self.execution: Execution | None = None
        """The execution that runs it; None before and after."""
        self.execution_size = 0
        """Size of the batch of which it is the first request; else 0."""
        self.extra: tuple[TensorRef, ...] = ()
        """Tensors that the scheduler adds to its inputs."""
        self.waiting_for: InstanceQueue | None = None
        """The pool in which it waits for a free instance."""
        self.response: ResponseMessage | None = None
        self.final = False
        self.held: weakref.ref[InferenceRequest] | None = None
        """The model's request object, if it is still open after ``execute``."""
        self.failed = False
        """Whether ``execute`` failed; an error that a model returns does not count."""
        self.waiter: Waiter | None = None
        self.steps: StepLog | None = None
        """The running steps, if this is a request to an ensemble."""
        self.turn: DeliveryTurn | None = None
        """Its place in the order of responses, if the model preserves that."""

    @property
    def is_open(self) -> bool:
        """Whether the model may still answer it."""
        return not (self.final or self.filler or self.root.ended)

    @property
    def is_rescheduled(self) -> bool:
        """Whether the model rescheduled the request."""
        return bool(self.release_flags & RESCHEDULE)

    def drop(self, reason: str) -> None:
        """Do not reschedule the request; a sender may still answer it."""
        self.release_flags = RELEASE_ALL
        self.dropped = reason

    def send(self, response: ResponseMessage | None, final: bool) -> None:
        """Receive a response of the model's sender."""
        if self.root.ended is not None:
            self._refuse()
            return
        if response is not None:
            response.final = final
            self.response = response
        if final:
            self.finish()

    def _refuse(self) -> None:
        """Unwind ``execute``; other threads and tasks of the model continue."""
        execution = self.execution
        if execution is not None and execution.thread_id == threading.get_ident():
            self.root.check_after_grace()

    def finish(self, response: ResponseMessage | None = None) -> None:
        """Set the final flag and the response, if any; wake the caller."""
        if response is not None:
            self.response = response
        self.final = True
        if self.waiter is not None:
            self.waiter.wake()

    def note(self, text: str) -> None:
        """Add a note to the record of this request, once."""
        if self.call.notes is None:
            self.call.notes = []
        if text not in self.call.notes:
            self.call.notes.append(text)

    def expect_later(self) -> Waiter:
        """Return a waiter that is woken by the final flag."""
        self.waiter = waiter = Waiter()
        if self.final:
            waiter.wake()
        return waiter

    def wake(self) -> None:
        """Wake the caller."""
        if self.waiter is not None:
            self.waiter.wake()

    def sent(self) -> tuple[int, bool]:
        """Return the number of responses sent, and whether the final flag was sent."""
        return int(self.response is not None), self.final

    def is_cancelled(self) -> bool:
        """Whether the caller has cancelled the request.

        As on Triton, a client cancels only its own request, not the BLS requests that
        it causes.
        """
        if self.call.compute_start_ns:
            # The scheduler checks it before the call starts.
            self.call.asked_cancelled = True
        if self.call.parent is None:
            return self.root.cancelled
        return self.cancelled or self.root.ended is not None

    def trace(self) -> Inflight:
        """Return this request, which identifies the caller of a BLS request."""
        return self

    def context(self) -> dict[str, str] | None:
        """Return the OpenTelemetry context that a model passes on, if there is one."""
        if not self.root.record.is_exported:
            return None
        # Deferred: few servers export their runs.
        from blsnb.otlp.ids import carrier

        return carrier(self.root.record, self.call)


class Caller:
    """The origin of a request: a client, a model's BLS call, or a step of an ensemble.

    Parameters
    ----------
    root
        The client request to which it belongs.
    parent
        The request that caused it; None for a client request.
    execution
        The execution whose thread waits for the response; None if another
        thread waits, which keeps no instance busy.
    line
        Line of the model's source with the call; 0 if unknown.
    flags
        `CallFlag` bits of its call in the trace.
    is_client
        Whether it is a client, or an ensemble, which receives responses like a client.
    """

    __slots__ = ("execution", "flags", "is_client", "line", "parent", "root", "steps")

    def __init__(
        self,
        root: RootRequest,
        parent: Inflight | None,
        execution: Execution | None,
        line: int,
        flags: int = 0,
        is_client: bool = False,
    ) -> None:
        self.root = root
        self.parent = parent
        self.execution = execution
        self.line = line
        self.flags = flags
        self.is_client = is_client
        self.steps: StepLog | None = None
        """The running steps of the calling ensemble; None for other callers."""

    @property
    def blocks(self) -> bool:
        """Whether an execution or an ensemble is blocked until the response."""
        return self.execution is not None or self.steps is not None


current_execution: ContextVar[Execution | None] = ContextVar(
    "blsnb_execution", default=None
)
"""The execution of a coroutine: several share an instance and its event loop."""


class Execution:
    """One ``execute`` of one instance, for one request or for a batch.

    Parameters
    ----------
    root
        A lifetime of its own if it serves several client requests; else theirs.
    """

    __slots__ = (
        "__weakref__",
        "blocked_on",
        "hook_thread_id",
        "inflight",
        "inflights",
        "instance",
        "is_interrupted",
        "number",
        "root",
        "thread_id",
        "watched",
    )

    def __init__(
        self,
        instance: RunningInstance,
        inflights: list[Inflight],
        number: int,
        root: RootRequest | None = None,
    ) -> None:
        self.instance = instance
        self.inflights = inflights
        self.inflight = inflights[0]
        """The first request: the parent of BLS calls without another parent."""
        self.number = number
        self.root = root or self.inflight.root
        self.thread_id = self.hook_thread_id = 0
        """Identifier of its thread, once it runs; the second is 0 again when the
        thread has left the model's ``execute``."""
        self.is_interrupted = False
        """Whether an exception was raised in that thread from another one."""
        self.blocked_on: Inflight | None = None
        """The BLS request that the thread of ``execute`` waits for."""
        self.watched: list[tuple[InferenceResponse, str, int]] | None = None
        """Error responses of its BLS calls, each with the model and the line."""

    def is_left_by(self, root: RootRequest) -> bool:
        """Whether all client requests that it serves have ended, this one among them.

        Its own lifetime ends with the last of them.
        """
        roots = [inflight.root for inflight in self.inflights]
        if root not in roots or any(other.ended is None for other in roots):
            return False
        assert root.ended is not None
        self.root.end(root.ended)
        return True

    def note_unchecked_errors(self) -> None:
        """Note the errors that the model never checked."""
        for response, model_name, line in self.watched or ():
            if is_unasked(response):
                place = f" in line {line}" if line else ""
                self.inflight.note(
                    f"The call of {model_name}{place} failed, but has_error() of "
                    "its response was never called: a failed BLS call does not raise."
                )

    @property
    def call(self) -> Call:
        """The record of the request, or of the first request of a batch."""
        return self.inflight.call
