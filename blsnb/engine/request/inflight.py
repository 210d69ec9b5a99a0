"""Inflight: one request until its final response; Execution: one run of ``execute``."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection, Sequence
from contextvars import ContextVar
from typing import Protocol

from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.ordered_delivery import Turn
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
    def execution(self) -> Execution | None:
        """The current ``execute``; None while the instance is free."""


class InstanceQueue(Protocol):
    """The instances of one model version, and the requests that wait for one."""

    @property
    def instances(self) -> Sequence[RunningInstance]:
        """All instances that serve the version."""

    def held_up_by(self) -> Sequence[RunningInstance]:
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
    """A request on its way: who asked, who runs it, what was answered.

    It is the way back (`Reply`) of the request object that the model holds.
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
    """Whether nobody sent it: it only keeps a place in a batch."""

    def __init__(self, message: RequestMessage, root: RootRequest, call: Call) -> None:
        self.release_flags = RELEASE_ALL
        """What the model said is to become of the request after ``execute``."""
        self.dropped = ""
        """Why it cannot come back, though the model asked for that."""
        self.batch_size = 1
        """How many inferences it is: its first dimension, where the model batches."""
        self.cancelled = False
        """Whether its BLS caller asked it to stop."""
        self.message = message
        self.requested = message.requested_outputs
        """Names of the outputs to send: all configured ones if none is asked for."""
        self.root = root
        self.call = call
        self.execution: Execution | None = None
        """What runs it; None before and after."""
        self.execution_size = 0
        """Batch size of the ``execute`` that it was the first of; else 0."""
        self.extra: tuple[TensorRef, ...] = ()
        """What its scheduler gives the model besides its inputs."""
        self.waiting_for: InstanceQueue | None = None
        """Whose free instance it waits for."""
        self.response: ResponseMessage | None = None
        self.final = False
        self.held: weakref.ref[InferenceRequest] | None = None
        """The model's request object, where it is still open after ``execute``."""
        self.failed = False
        """Whether ``execute`` failed; an error that a model returns does not count."""
        self.waiter: Waiter | None = None
        self.steps: StepLog | None = None
        """What an ensemble's request waits for."""
        self.turn: Turn | None = None
        """When its answer may leave, where a model answers in order."""

    @property
    def again(self) -> bool:
        """Whether the model asked for the request to come back."""
        return bool(self.release_flags & RESCHEDULE)

    def drop(self, reason: str) -> None:
        """Note that the request does not come back: a sender may still answer it."""
        self.release_flags = RELEASE_ALL
        self.dropped = reason

    def send(self, response: ResponseMessage | None, final: bool) -> None:
        """Take a response from the model's sender."""
        if self.root.ended is not None:
            self._refuse()
            return
        if response is not None:
            response.final = final
            self.response = response
        if final:
            self.finish()

    def _refuse(self) -> None:
        """Unwind ``execute`` itself; other threads and tasks of the model go on."""
        execution = self.execution
        if execution is not None and execution.thread_id == threading.get_ident():
            self.root.check()

    def finish(self, response: ResponseMessage | None = None) -> None:
        """Set the final flag, and the response if one is given; wake the caller."""
        if response is not None:
            self.response = response
        self.final = True
        if self.waiter is not None:
            self.waiter.wake()

    def note(self, text: str) -> None:
        """Leave a note on the record of this request, once."""
        if self.call.notes is None:
            self.call.notes = []
        if text not in self.call.notes:
            self.call.notes.append(text)

    def expect_later(self) -> Waiter:
        """Return what is woken at the final flag."""
        self.waiter = waiter = Waiter()
        if self.final:
            waiter.wake()
        return waiter

    def wake(self) -> None:
        """Wake the caller, whatever came."""
        if self.waiter is not None:
            self.waiter.wake()

    def sent(self) -> tuple[int, bool]:
        """Return how many responses were sent, and whether the final flag was."""
        return int(self.response is not None), self.final

    def is_cancelled(self) -> bool:
        """Whether the caller no longer wants the answer.

        A cancellation from outside reaches the request from outside only: Triton
        does not pass it on to BLS requests.
        """
        if self.call.parent is None:
            return self.root.cancelled
        return self.cancelled or self.root.ended is not None

    def trace(self) -> Inflight:
        """Return this request itself: the mark of a BLS request's caller."""
        return self


class Caller:
    """What makes a request: a client, a model's BLS call, or a step of an ensemble.

    Parameters
    ----------
    root
        The client request that it serves.
    parent
        The request that caused it; None for a client request.
    execution
        The execution whose thread waits for the response; None if another
        thread waits, which keeps no instance busy.
    line
        Line of the model's source that makes the request; 0 if unknown.
    flags
        `CallFlag` bits of its call in the trace.
    is_client
        Whether a client makes it, or an ensemble, which is answered like one.
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
        """The steps of the ensemble that makes it; None for other callers."""

    @property
    def blocks(self) -> bool:
        """Whether an execution or an ensemble is blocked until the response."""
        return self.execution is not None or self.steps is not None


def call_in(model_name: str, line: int) -> str:
    """Return what a note calls a BLS call; its line is 0 where nothing tells it."""
    return f"The call of {model_name}{f' in line {line}' if line else ''}"


current_execution: ContextVar[Execution | None] = ContextVar(
    "blsnb_execution", default=None
)
"""What a coroutine runs for: several may share an instance and its event loop."""


class Execution:
    """One ``execute`` of one instance, for one request or for a batch.

    Parameters
    ----------
    root
        The life of it, where its requests have several roots; else theirs.
    """

    __slots__ = (
        "blocked_on",
        "inflight",
        "inflights",
        "instance",
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
        """The first: who asks for something where the model does not say."""
        self.number = number
        self.root = root or self.inflight.root
        self.thread_id = 0
        """Of the thread that runs it, once it does."""
        self.blocked_on: Inflight | None = None
        """The BLS request that the thread of ``execute`` waits for."""
        self.watched: list[tuple[InferenceResponse, str, int]] | None = None
        """Error responses it got, each with the model asked and the line."""

    def is_left_by(self, root: RootRequest) -> bool:
        """Whether it served a request from outside that ended, and serves no other.

        With the last of them its own life ends.
        """
        roots = [inflight.root for inflight in self.inflights]
        if root not in roots or any(other.ended is None for other in roots):
            return False
        assert root.ended is not None
        self.root.end(root.ended)
        return True

    def note_unasked(self) -> None:
        """Note the errors that nobody has asked for."""
        for response, model_name, line in self.watched or ():
            if is_unasked(response):
                self.inflight.note(
                    f"{call_in(model_name, line)} failed, and nobody asked its "
                    "response has_error(): a failed BLS call does not raise."
                )

    @property
    def call(self) -> Call:
        """The record of the request that this serves; of a batch, of the first."""
        return self.inflight.call

    def __repr__(self) -> str:
        return f"<Execution {self.number} on {self.instance.name}>"
