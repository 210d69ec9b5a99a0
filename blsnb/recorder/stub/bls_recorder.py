"""What is recorded when a model makes BLS calls: the hooks."""

from __future__ import annotations

import functools
import time
import weakref
from threading import get_ident
from typing import TYPE_CHECKING, Any

from blsnb.recorder.stub.answers import add_response, take_response
from blsnb.recorder.stub.executions import (
    ASYNC,
    CANCELLED,
    DECOUPLED,
    RecordedCall,
    RecordedExecution,
    request_fields,
)
from blsnb.recorder.stub.owners import note
from blsnb.recorder.stub.tensor_rows import tensor_rows
from blsnb.recorder.stub.trampolines import guarded, working

if TYPE_CHECKING:
    from collections.abc import Callable

    from blsnb.recorder.stub.open_executions import OpenExecutions
    from blsnb.recorder.stub.owners import Owner
    from blsnb.recorder.stub.settings import RecorderSettings

    Arguments = tuple[tuple[Any, ...], dict[str, Any]]

_POSITIONS = {"requested_output_names": 3, "model_name": 4, "model_version": 5}
"""Positions of arguments of an `InferenceRequest`, after ``self``."""
_TRACE = 11
"""Number of positional arguments, with ``self``, that include ``trace``."""


class BlsRecorder:
    """Records the BLS calls of the model of this process.

    Parameters
    ----------
    settings
        What is recorded.
    model
        Name and version of the model of this process.
    executions
        Those that the calls may belong to.
    failed
        Called with the error of a hook.
    """

    def __init__(
        self,
        settings: RecorderSettings,
        model: tuple[str, int],
        executions: OpenExecutions,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._settings = settings
        self._model = model
        self._executions = executions
        self._owners = executions.owners
        self._left_out = executions.owners.left_out
        self._with_traces = settings.trace
        self._failed = failed
        self._built: dict[weakref.ref[Any], Arguments] = {}
        """Arguments of the requests that the model made."""
        self._streams: dict[weakref.ref[Any], RecordedCall] = {}
        self._callers: dict[int, RecordedExecution] = {}
        """Executions of calls in flight, by id of the call."""

    def requested(
        self, values: tuple[Any, ...], named: dict[str, Any]
    ) -> Arguments | None:
        """Note a new request, and return its arguments with the trace of its caller.

        The request does not tell them later.
        """
        # Without the request itself, which would keep itself alive.
        note(self._built, values[0], (values[1:], named))
        if not self._with_traces or "trace" in named or len(values) >= _TRACE:
            return None
        trace = self._trace()
        return None if trace is None else (values, dict(named, trace=trace))

    def _trace(self) -> Any:
        """Return the trace of the request for which this thread and task work."""
        if self._owners.entered() is None:
            requests = self._left_out.get(get_ident())
            if requests is not None:
                trace = self._owners.trace_of(requests)
                if trace is None:
                    self._left_out[get_ident()] = ()
                return trace
        owner = self._owners.owner()
        request = None if owner is None or owner.request is None else owner.request()
        return None if request is None else request.trace()

    def _target(self, request: Any) -> tuple[str, int, list[str]]:
        """Return model, version and requested outputs of a request."""
        built = self._built.get(weakref.ref(request))
        if built is None:
            # A model may execute a request again that it received.
            return (*self._model, [])
        values, named = built
        given = {
            name: values[place]
            for name, place in _POSITIONS.items()
            if place < len(values)
        }
        given.update(named)
        return (
            _text(given["model_name"]),
            given.get("model_version", -1),
            [_text(name) for name in given["requested_output_names"]],
        )

    def begins(
        self, values: tuple[Any, ...], named: dict[str, Any]
    ) -> RecordedCall | None:
        """Record a BLS call that starts."""
        if get_ident() in self._left_out and self._owners.entered() is None:
            return None
        request = values[0]
        owner = self._owners.owner()
        if owner is None:
            if self._executions.draw() >= self._settings.rate:
                return None
        elif owner.execution is None:
            return None
        model, version, names = self._target(request)
        call = self._new_call(owner, model, version)
        call.requested = names
        call.fields = request_fields(request, self._settings)
        call.inputs = tensor_rows(request.inputs(), self._settings)
        if values[1] if len(values) > 1 else named.get("decoupled", False):
            call.flags |= DECOUPLED
        call.start_ns = time.monotonic_ns()
        return call

    def _new_call(self, owner: Owner | None, model: str, version: int) -> RecordedCall:
        execution = None if owner is None else owner.execution
        caller = None if owner is None else owner.call
        call = RecordedCall(model, version, -1 if caller is None else caller.id)
        if caller is None:
            number = None if execution is None else execution.number
            call.origin = {"bls": True, "by": self._model[0], "execution": number}
        if execution is None:
            execution = RecordedExecution([], False)
        self._executions.add(execution, call)
        self._callers[call.id] = execution
        return call

    def returned(self, call: RecordedCall, response: Any) -> None:
        """Record the response of a synchronous call."""
        if call.flags & DECOUPLED:
            note(self._streams, response, call)
            ended = guarded(self.ended, self._failed)
            weakref.finalize(response, ended, call).atexit = False
            return
        if self._executions.end(call):
            take_response(call, response, self._settings)
            self._finish(call)

    def aborted(self, call: RecordedCall) -> None:
        """Drop a call that raised: it did not reach the server."""
        self._callers[call.id].made.remove(call)
        self._finish(call)

    def async_returned(self, call: RecordedCall, future: Any) -> None:
        """Record the response of an asynchronous call when it arrives."""
        call.flags |= ASYNC
        arrived = guarded(self._arrived, self._failed)
        future.add_done_callback(functools.partial(arrived, call))

    def _arrived(self, call: RecordedCall, future: Any) -> None:
        # The public method would count as the model's look at the exception.
        error = getattr(future, "_exception", None)
        if future.cancelled():
            call.flags |= CANCELLED
            self.ended(call)
        elif error is not None:
            call.fail(str(error), "")
            self.ended(call)
        else:
            self.returned(call, future.result())

    def streaming(
        self, values: tuple[Any, ...], named: dict[str, Any]
    ) -> RecordedCall | None:
        """Return the call of a stream from which a model takes a response."""
        return self._streams.get(weakref.ref(values[0])) if self._callers else None

    def streamed(self, call: RecordedCall, response: Any) -> None:
        """Record a response that a model took from a stream of responses."""
        if not call.end_ns:
            add_response(call, response, self._settings)

    def ended(self, call: RecordedCall) -> None:
        """Record the end of a call without a further response."""
        if self._executions.end(call):
            self._finish(call)

    def _finish(self, call: RecordedCall) -> None:
        execution = self._callers.pop(call.id)
        self._executions.complete(execution)
        if not execution.calls and execution.made:
            self._executions.complete(execution)

    def adopt(self, values: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Note who starts a thread."""
        self._owners.adopt(values[0])

    def submitted(
        self, values: tuple[Any, ...], named: dict[str, Any]
    ) -> Arguments | None:
        """Return the arguments of `ThreadPoolExecutor.submit`, with an owner."""
        owner = self._owners.owner()
        if owner is None or len(values) < 2:
            return None
        enter = guarded(lambda: self._owners.enter_as(owner), self._failed)
        leave = guarded(self._owners.leave, self._failed)
        return (values[0], working(values[1], enter, leave), *values[2:]), named


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
