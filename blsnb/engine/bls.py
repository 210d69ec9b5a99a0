"""InstanceBackend: what model code asks of the engine, for one instance."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import time
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

from blsnb.engine.request.failure import is_ours
from blsnb.engine.request.inflight import (
    Caller,
    Execution,
    Inflight,
    call_in,
    current_execution,
)
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.request.streaming import Readable, Single
from blsnb.engine.request.validation import RequestError
from blsnb.engine.routing import not_submitted
from blsnb.engine.source_lines import SourceLines
from blsnb.errors import (
    OUT_OF_RESOURCES,
    InferenceError,
    ModelLoadError,
    OutOfResourcesError,
)
from blsnb.pb_utils.backend import (
    BLS_OUTSIDE_EXECUTE,
    Refusal,
    Responses,
    SampleFamily,
)
from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.compiled.parameters import UNSUPPORTED, are_int64
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.pb_utils.response import InferenceResponse
from blsnb.trace.events import Call, CallFlag, LogLine

if TYPE_CHECKING:
    from blsnb.engine.engine import Engine
    from blsnb.engine.instance.instance import ModelInstance
    from blsnb.runtimes.runtime import Runtime

_BELOW_CALLER = 5
"""So many frames are between the model and the question for its line: ours, and what
checks the arguments of its call."""
_MOST_LINES = 1000
"""So many lines of one call are kept in the trace."""


class Control(Protocol):
    """What loads and unloads models because a model asks for it."""

    def load(
        self,
        name: str,
        config: str | None,
        files: Mapping[str, bytes],
        *,
        root: RootRequest | None,
    ) -> None:
        """Load a model; ModelLoadError says why not."""

    def unload(self, name: str, *, unload_dependents: bool) -> None:
        """Unload a model; ModelLoadError says why not."""


class InstanceBackend:
    """The backend of one instance.

    Parameters
    ----------
    engine
        Runs the requests of the instance's models.
    control
        Loads and unloads models.
    instance
        Whose requests and log lines these are.
    log
        Takes level, text, file and line for the model's log.
    """

    def __init__(
        self,
        engine: Engine,
        control: Control,
        instance: ModelInstance,
        log: Callable[[str, str, str, int], None],
    ) -> None:
        self._engine = engine
        self._router = engine.router
        self._control = control
        self._instance = instance
        self._log = log
        self._lines = SourceLines(instance.model_file)
        self._noted_root: RootRequest | None = None
        self.runtime: Runtime = engine.placements.runtime
        """What takes memory of a device, for as long as the instance lives."""

    def exec(self, message: RequestMessage) -> ResponseMessage:
        """Run a request on its model and wait for the answer.

        Raises
        ------
        TritonModelException
            The instance is not ready: `initialize` has not finished.
        """
        if not self._instance.ready:
            raise TritonModelException(BLS_OUTSIDE_EXECUTE)
        return self._run(message, self._caller(message))

    def exec_decoupled(self, message: RequestMessage) -> Responses:
        """Run a request with any number of responses, and wait for the first.

        Raises
        ------
        TritonModelException
            The instance is not ready: `initialize` has not finished.
        """
        if not self._instance.ready:
            raise TritonModelException(BLS_OUTSIDE_EXECUTE)
        return self._run_many(message, self._caller(message))

    def async_exec(
        self,
        message: RequestMessage,
        answer: Callable[[Any], Any],
        decoupled: bool,
    ) -> asyncio.Future[Any]:
        """Run a request on a thread of the instance's fan-out pool.

        Where no thread can start the answer is an error, as of any refused request.
        """
        loop = asyncio.get_running_loop()
        if not self._instance.ready:
            raise TritonModelException(BLS_OUTSIDE_EXECUTE)
        caller = self._caller(message)
        caller.execution = None
        caller.flags |= CallFlag.ASYNC
        run: Callable[..., Any] = self._run_many if decoupled else self._run
        context = contextvars.copy_context()
        try:
            return loop.run_in_executor(
                self._instance.threads.fan_out(),
                context.run,
                lambda: answer(run(message, caller)),
            )
        except OutOfResourcesError as error:
            refused = self._not_started(message, caller, error)
        done = loop.create_future()
        single = BlsResponses(Single(refused), self) if decoupled else refused
        done.set_result(answer(single))
        return done

    def _not_started(
        self, message: RequestMessage, caller: Caller, error: OutOfResourcesError
    ) -> ResponseMessage:
        """Return the response to a request for which no thread could start."""
        refusal = RequestError(error.message, error.code, error.advice)
        self._router.record_refusal(message, caller, refusal)
        if caller.parent is None:
            self._engine.open_requests.end(caller.root)
        return self._refusal(message, refusal)

    def _caller(self, message: RequestMessage) -> Caller:
        """Find out for whom a request is made."""
        execution = self.current_execution()
        mark = message.trace
        line = self._lines.innermost(_BELOW_CALLER)
        named = mark if isinstance(mark, Inflight) and not mark.final else None
        if execution is not None:
            own = execution.thread_id == get_ident()
            parent = named or execution.inflight
            if mark is None and parent.root is not self._noted_root:
                self._note_untraced(parent, message.model_name, line)
            if own and execution.root.ended is not None:
                raise Unwind
            waits = execution if own else None
            if parent.root.ended is not None and parent.root is not execution.root:
                # Of several clients this one left; the batch goes on.
                return Caller(
                    self._engine.open_requests.open_background(), None, waits, line
                )
            return Caller(parent.root, parent, waits, line)
        if named is not None:
            return Caller(named.root, named, None, line)
        return Caller(self._engine.open_requests.open_background(), None, None, line)

    def current_execution(self) -> Execution | None:
        """Return what this instance executes: this coroutine's, or its only one."""
        execution = current_execution.get()
        if execution is None or execution.instance is not self._instance:
            return self._instance.execution
        return execution

    def _note_untraced(self, parent: Inflight, model_name: str, line: int) -> None:
        """Note, once in a run, a call that Triton's trace would not show."""
        self._noted_root = parent.root
        parent.note(
            f"{call_in(model_name, line)} is made without "
            "trace=request.trace(): Triton's own trace would not show it."
        )

    def _run_many(self, message: RequestMessage, caller: Caller) -> Responses:
        responses = BlsResponses(self._started(message, caller), self)
        # The call returns when there is something to read.
        responses.get(0)
        return responses

    def _started(self, message: RequestMessage, caller: Caller) -> Readable:
        try:
            if message.fields.parameters and not are_int64(message.fields.parameters):
                raise RequestError(UNSUPPORTED)
            return self._router.route_many(message, caller)
        except RequestError as error:
            return Single(self._refusal(message, error))

    def _refusal(self, message: RequestMessage, error: RequestError) -> ResponseMessage:
        name = message.model_name
        return not_submitted(name, self._router.unready_text(name, error.message))

    def as_released(self, response: ResponseMessage) -> ResponseMessage:
        """Return a response of BLS as the imitated release gives it back."""
        if not self._router.keeps_codes:
            response.code = "INTERNAL"
        elif response.code == OUT_OF_RESOURCES:
            # A model knows Triton's codes only.
            response.code = "UNAVAILABLE"
        return response

    def _run(self, message: RequestMessage, caller: Caller) -> ResponseMessage:
        try:
            if message.fields.parameters and not are_int64(message.fields.parameters):
                raise RequestError(UNSUPPORTED)
            response = self._router.route(message, caller)
            return response if response.error is None else self.as_released(response)
        except RequestError as error:
            return self._refusal(message, error)
        except Unwind:
            execution = caller.execution
            if execution is not None:
                execution.root.check()
            elif caller.flags & CallFlag.ASYNC:
                raise
            # A thread of the model's own goes on after a request that has ended.
            reason = caller.root.ended
            text = "The request was cancelled."
            if isinstance(reason, InferenceError):
                text = reason.message
            return ResponseMessage(error=text, code="CANCELLED")
        finally:
            if caller.parent is None:
                self._engine.open_requests.end(caller.root)

    def note_error(self, response: InferenceResponse, model_name: str) -> None:
        """See whether the model asks if a response is an error: this one is."""
        execution = self.current_execution()
        if execution is None:
            return
        if execution.watched is None:
            execution.watched = []
        line = self._lines.innermost(2)
        execution.watched.append((response, model_name, line))

    def log(self, level: str, text: str) -> None:
        """Write a line of the model's log, and of the call that it belongs to."""
        execution = self.current_execution()
        if execution is not None:
            if execution.thread_id == get_ident():
                execution.root.check()
            _keep_line(execution.call, level, text)
        if level != "PRINT":
            filename, line = _user_frame()
            self._log(level, text, filename, line)

    def is_model_ready(self, name: str, version: str) -> bool:
        """Whether a model, or a version of it, can serve."""
        return self._engine.catalog.is_ready(name, version)

    def load_model(self, name: str, config: str, files: dict[str, bytes]) -> None:
        """Load a model, or load it anew, as part of what this instance does."""
        execution = self.current_execution()
        root = self._instance.load_root
        if execution is not None and execution.thread_id == get_ident():
            root = execution.root
        try:
            self._control.load(name, config or None, files, root=root)
        except ModelLoadError as error:
            raise Refusal(error.message) from error

    def unload_model(self, name: str, unload_dependents: bool) -> None:
        """Stop serving a model, and what was loaded only for it if that is asked."""
        try:
            self._control.unload(name, unload_dependents=unload_dependents)
        except ModelLoadError as error:
            raise Refusal(error.message) from error

    def metric_family(self, name: str, description: str, kind: str) -> SampleFamily:
        """Return the server's family of metrics of a name."""
        return self._engine.metrics.family(name, description, kind)

    def refusal_text(self, text: str) -> str:
        """Return a refusal of the server in the words that reach the model."""
        name = self._instance.name
        return f"Failed to process the request for model '{name}', message: {text}"

    def model_dir(self) -> str:
        """Return the folder of the model's version."""
        return str(Path(self._instance.model_file).parent)


class BlsResponses:
    """The responses of a decoupled BLS request, for the model that made it.

    While the thread of an ``execute`` waits for one, that is seen: the wait could
    be part of a circle. Dropping them cancels nothing, and keeps nothing.
    """

    def __init__(self, responses: Readable, backend: InstanceBackend) -> None:
        self._responses = responses
        self._backend = backend

    def __del__(self) -> None:
        self._responses.leave()

    def get(self, number: int) -> ResponseMessage | None:
        """Return a response, waiting for it; None if there are not so many."""
        execution = self._backend.current_execution()
        own = execution is not None and execution.thread_id == get_ident()
        if own and execution is not None and isinstance(self._responses, Inflight):
            execution.blocked_on = self._responses
        try:
            response = self._responses.get(number)
        except Unwind:
            if own:
                raise
            return None
        finally:
            if execution is not None and own:
                execution.blocked_on = None
        return None if response is None else self._backend.as_released(response)

    def cancel(self) -> None:
        """Say that no more are wanted."""
        self._responses.cancel()


def _keep_line(call: Call, level: str, text: str) -> None:
    if call.logs is None:
        call.logs = []
    if len(call.logs) == _MOST_LINES:
        level, text = "INFO", f"only the first {_MOST_LINES} lines are kept\n"
    if len(call.logs) <= _MOST_LINES:
        call.logs.append(LogLine(time.monotonic_ns(), level, text))


def _user_frame() -> tuple[str, int]:
    """File and line of the innermost frame that is not ours."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
