"""What is recorded when a model is executed: the hooks."""

from __future__ import annotations

import asyncio
import weakref
from threading import get_ident
from typing import TYPE_CHECKING, Any

from blsnb.recorder.stub.answers import add_empty_response, add_response, take_response
from blsnb.recorder.stub.executions import (
    DECOUPLED,
    RecordedCall,
    RecordedExecution,
    error_text,
    request_fields,
)
from blsnb.recorder.stub.frames import error_of, places_of
from blsnb.recorder.stub.owners import note
from blsnb.recorder.stub.tensor_rows import tensor_rows
from blsnb.recorder.stub.trampolines import OWN_FILE, awaiting, guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from blsnb.recorder.stub.open_executions import OpenExecutions
    from blsnb.recorder.stub.settings import RecorderSettings

_LEFT_OUT = "left out"
"""State of an ``execute`` that is not recorded."""
_FINAL = 1
"""Flag of the last response that a sender sends."""


class State:
    """What a hook hands to the next one of the same ``execute``."""

    __slots__ = ("execution", "requests", "token")

    def __init__(self, execution: RecordedExecution, requests: Sequence[Any]) -> None:
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
        self._rate = settings.rate
        self._draw = executions.draw
        self._left_out = executions.owners.left_out
        self._model = model
        self._version = version
        self._instance = instance
        self._executions = executions
        self._owners = executions.owners
        self._failed = failed

    def begin(self, values: tuple[Any, ...]) -> Any:
        """Record the requests of an ``execute``, unless it is not to be recorded."""
        requests = values[-1]
        if self._draw() >= self._rate:
            if self._owners.open:
                self._executions.accompany(False)
            self._left_out[get_ident()] = requests
            return _LEFT_OUT
        received = [self._received(request) for request in requests]
        state = State(self._executions.open(received), requests)
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
        note(self._owners.calls, request, call)
        return call

    def returned(self, state: Any, result: Any) -> Any:
        """Record the responses of an ``execute``; wrap its coroutine."""
        if state is _LEFT_OUT:
            requests = self._left_out.pop(get_ident(), ())
            return None if type(result) is list else self._runs_on(requests, result)
        if state is None:
            return None
        self._leave(state)
        if asyncio.iscoroutine(result):
            hooks = self.enter, self._answered, self.raised
            return self._awaiting(result, state, *hooks)
        self._answered(state, result)
        return None

    def _runs_on(self, requests: Sequence[Any], result: Any) -> Any:
        """Wrap the coroutine of an execution that is not recorded."""
        self._executions.accompany(True)
        if not asyncio.iscoroutine(result):
            return None
        owner = self._owners.unrecorded(requests)
        return self._awaiting(result, owner, self._owners.enter_again)

    def _awaiting(self, coroutine: Any, state: Any, *hooks: Any) -> Any:
        wrapped: Any = awaiting(coroutine, self._failed, state, *hooks)
        wrapped.__name__ = getattr(coroutine, "__name__", "execute")
        wrapped.__qualname__ = getattr(coroutine, "__qualname__", "execute")
        return wrapped

    def _answered(self, state: State, result: Any) -> None:
        execution = state.execution
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

    def raised(self, state: Any, error: BaseException) -> None:
        """Record the exception of an ``execute``."""
        if state is _LEFT_OUT:
            self._left_out.pop(get_ident(), None)
        if not isinstance(state, State):
            return
        self._leave(state)
        places = [place for place in places_of(error) if place[0] != OWN_FILE]
        self._fail(state.execution, error_of(error, places))

    def _fail(self, execution: RecordedExecution, text: str) -> None:
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

    def call_of(
        self, values: tuple[Any, ...], named: dict[str, Any]
    ) -> RecordedCall | None:
        """Return the call of a request whose sender a model gets."""
        return self._owners.calls.get(weakref.ref(values[0]))

    def sender_made(self, call: RecordedCall, sender: Any) -> None:
        """Note which request a response sender belongs to."""
        if weakref.ref(sender) not in self._owners.calls:
            note(self._owners.calls, sender, call)
            self._watch(call, sender)

    def sending(self, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return what `sent` receives; None if no record waits for a response."""
        call = self._owners.calls.get(weakref.ref(values[0]))
        return None if call is None or call.end_ns else (call, values, named)

    def sent(self, state: Any, result: None) -> None:
        """Record a response that a model has sent."""
        call, values, named = state
        if call.end_ns:
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
