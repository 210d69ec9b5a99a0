"""What is recorded when a model is executed: the hooks."""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING, Any

from blsnb.recorder.stub.answers import add_empty_response, add_response, take_response
from blsnb.recorder.stub.executions import (
    DECOUPLED,
    Execution,
    RecordedCall,
    error_text,
    request_fields,
)
from blsnb.recorder.stub.frames import error_of, places_of
from blsnb.recorder.stub.tensor_rows import tensor_rows
from blsnb.recorder.stub.trampolines import OWN_FILE, awaiting, guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from blsnb.recorder.stub.open_executions import OpenExecutions
    from blsnb.recorder.stub.settings import RecorderSettings

_FINAL = 1
"""Flag of the last response that a sender sends."""


class State:
    """What a hook hands to the next one of the same ``execute``."""

    __slots__ = ("execution", "requests", "token")

    def __init__(self, execution: Execution | None, requests: Sequence[Any]) -> None:
        self.execution = execution
        self.requests = requests
        self.token: Any = None


class ModelRecorder:
    """Records the executions of the model of this process.

    Parameters
    ----------
    settings
        What is recorded.
    model, version, instance
        The model of this process.
    executions
        Receives them.
    failed
        Called with the error of a hook.
    """

    def __init__(
        self,
        settings: RecorderSettings,
        model: str,
        version: int,
        instance: str,
        executions: OpenExecutions,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._settings = settings
        self._model = model
        self._version = version
        self._instance = instance
        self._executions = executions
        self._owners = executions.owners
        self._failed = failed

    def begin(self, values: tuple[Any, ...]) -> State:
        """Record the requests of an ``execute``."""
        requests = values[-1]
        execution = None
        if self._executions.is_sampled():
            received = [self._received(request) for request in requests]
            execution = self._executions.open(received)
        state = State(execution, requests)
        self.enter(state)
        return state

    def enter(self, state: State) -> None:
        """Make the execution the owner of this thread and task."""
        state.token = self._owners.enter(state.execution, state.requests)

    def _leave(self, state: State) -> None:
        if state.token is not None:
            self._owners.leave(state.token)
            state.token = None

    def _received(self, request: Any) -> RecordedCall:
        call = RecordedCall(self._model, self._version)
        call.instance = self._instance
        call.fields = request_fields(request, self._settings)
        call.requested = sorted(request.requested_output_names())
        call.inputs = tensor_rows(request.inputs(), self._settings)
        self._owners.calls[request] = call
        return call

    def returned(self, state: State | None, result: Any) -> Any:
        """Record the responses of an ``execute``; wrap its coroutine."""
        if state is None:
            return None
        self._leave(state)
        if not asyncio.iscoroutine(result):
            self._answered(state, result)
            return None
        hooks = self.enter, self._answered, self.raised
        safe = [guarded(hook, self._failed) for hook in hooks]
        wrapped: Any = awaiting(result, state, *safe)
        wrapped.__name__ = getattr(result, "__name__", "execute")
        wrapped.__qualname__ = getattr(result, "__qualname__", "execute")
        return wrapped

    def _answered(self, state: State, result: Any) -> None:
        execution = state.execution
        if execution is None:
            return
        execution.running = False
        if not isinstance(result, list):
            result = [None] * len(execution.calls)
        for call, request, response in zip(execution.calls, state.requests, result):  # noqa: B905
            if response is None:
                self._expect(call, request)
            elif not call.end_ns:
                take_response(call, response, self._settings)
                self._executions.close(execution, call)
        self._executions.complete(execution)

    def _expect(self, call: RecordedCall, request: Any) -> None:
        """Wait for responses of a sender, while the model can send any."""
        if not call.end_ns:
            call.flags |= DECOUPLED
            self._watch(call, request)

    def _watch(self, call: RecordedCall, handle: Any) -> None:
        """Close a call when neither its request nor its sender is left."""
        call.handles += 1

        def gone() -> None:
            call.handles -= 1
            execution = self._executions.of(call)
            if execution is not None and not call.handles and not execution.running:
                self._executions.close(execution, call)

        weakref.finalize(handle, guarded(gone, self._failed)).atexit = False

    def raised(self, state: State | None, error: BaseException) -> None:
        """Record the exception of an ``execute``."""
        if state is None:
            return
        self._leave(state)
        if state.execution is not None:
            places = [place for place in places_of(error) if place[0] != OWN_FILE]
            self._fail(state.execution, error_of(error, places))

    def _fail(self, execution: Execution, text: str) -> None:
        execution.running = False
        said = (
            "Failed to process the request(s) for model "
            f"'{self._instance}', message: {text}"
        )
        for call in execution.calls:
            if not call.end_ns:
                call.fail(error_text(said, call.model, self._settings), "INTERNAL")
                self._executions.close(execution, call)
        self._executions.complete(execution)

    def sender_made(self, state: Any, sender: Any) -> None:
        """Note which request a response sender belongs to."""
        call = self._owners.calls.get(state[0][0])
        if call is not None and sender not in self._owners.calls:
            self._owners.calls[sender] = call
            self._watch(call, sender)

    def sent(self, state: Any, result: None) -> None:
        """Record a response that a model has sent."""
        values, named = state
        call = self._owners.calls.get(values[0])
        if call is None or call.end_ns:
            return
        response = values[1] if len(values) > 1 else named.get("response")
        flags = values[2] if len(values) > 2 else named.get("flags", 0)
        if response is not None:
            add_response(call, response, self._settings)
        elif flags & _FINAL:
            add_empty_response(call)
        execution = self._executions.of(call)
        if flags & _FINAL and execution is not None:
            self._executions.close(execution, call)
