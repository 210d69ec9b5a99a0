"""What the code of one instance can do: BLS, logs, metrics, loads of models."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack

from blsnb.engine.bls_responses import BlsResponses
from blsnb.engine.model_log import LogPlace, keep_line, log_position
from blsnb.engine.refusals import not_submitted
from blsnb.engine.request.inflight import Caller, Execution, Inflight, current_execution
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.request.streaming import Readable, SingleResponse
from blsnb.engine.request.validation import RequestError
from blsnb.errors import (
    OUT_OF_RESOURCES,
    InferenceError,
    ModelLoadError,
    OutOfResourcesError,
)
from blsnb.pb_utils.backend import BLS_OUTSIDE_EXECUTE, Refusal, Responses, SampleFamily
from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.compiled.parameters import UNSUPPORTED, are_int64
from blsnb.pb_utils.logger import server_event
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.pb_utils.response import InferenceResponse
from blsnb.trace.events import CallFlag

if TYPE_CHECKING:
    from blsnb.engine.engine import Engine
    from blsnb.engine.instance.instance import ModelInstance
    from blsnb.runtimes.runtime import Runtime

T = TypeVar("T")
_BELOW_CALLER = 5
"""Number of stack frames between the model's call and the line lookup."""


class Control(Protocol):
    """Loads and unloads models for a model."""

    def load(
        self,
        name: str,
        config: str | None,
        files: Mapping[str, bytes],
        *,
        root: RootRequest | None,
    ) -> None:
        """Load a model, or raise ModelLoadError."""

    def unload(self, name: str, *, unload_dependents: bool) -> None:
        """Unload a model, or raise ModelLoadError."""


class InstanceBackend:
    """Requests, logs and model control for the code of one instance.

    Parameters
    ----------
    log
        Receives level, text and place of each line of the model's log.
    """

    def __init__(
        self,
        engine: Engine,
        control: Control,
        instance: ModelInstance,
        log: Callable[[str, str, Unpack[LogPlace]], None],
    ) -> None:
        self._engine = engine
        self._router = engine.router
        self._control = control
        self._instance = instance
        self._log = log
        self._lines = SourceLines(instance.model_file)
        self._previous: Callable[[], asyncio.Future[Any] | None] = lambda: None
        """The previous ``async_exec()`` of this instance, unless it was dropped."""
        self.runtime: Runtime = engine.placements.runtime
        """Allocates device memory; fixed for the life of the instance."""

    def exec(self, message: RequestMessage) -> ResponseMessage:
        """Run a request on its model and wait for the response."""
        caller = self._caller(message)
        if caller.execution is None:
            return self._beside(self._run, message, caller)
        return self._run(message, caller)

    def exec_decoupled(self, message: RequestMessage) -> Responses:
        """Run a request with any number of responses, and wait for the first."""
        caller = self._caller(message)
        if caller.execution is None:
            return self._beside(self._run_many, message, caller)
        return self._run_many(message, caller)

    def _beside(
        self,
        run: Callable[[RequestMessage, Caller], T],
        message: RequestMessage,
        caller: Caller,
    ) -> T:
        """Run a request on another thread than the execution that causes it."""
        with self._engine.open_requests.beside(caller.root):
            return run(message, caller)

    def async_exec(
        self, message: RequestMessage, answer: Callable[[Any], Any], decoupled: bool
    ) -> asyncio.Future[Any]:
        """Run a request on a thread of the instance's fan-out pool.

        If no thread can start, the response is an error, as for any refused request.
        """
        loop = asyncio.get_running_loop()
        caller = self._caller(message)
        caller.execution = None
        caller.flags |= CallFlag.ASYNC
        previous = self._previous()
        if previous is not None and not previous.done():
            caller.flags |= CallFlag.CONCURRENT
        run: Callable[..., Any] = self._run_many if decoupled else self._run
        context = contextvars.copy_context()
        try:
            begun = self._instance.threads.fan_out().submit_async(
                partial(context.run, lambda: answer(self._beside(run, message, caller)))
            )
            self._previous = weakref.ref(begun)
            return begun
        except OutOfResourcesError as error:
            refused = self._not_started(message, caller, error)
        done = loop.create_future()
        single = self._responses(SingleResponse(refused)) if decoupled else refused
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
        """Return the caller of a request: an execution, or work in the background.

        Raises
        ------
        TritonModelException
            The instance is not ready: `initialize` has not finished.
        """
        if not self._instance.ready:
            raise TritonModelException(BLS_OUTSIDE_EXECUTE)
        execution = self.current_execution()
        mark = message.trace
        line = self._lines.innermost(_BELOW_CALLER)
        parent = mark if isinstance(mark, Inflight) and not mark.final else None
        waits = None
        if execution is not None:
            parent = parent or execution.inflight
            if execution.thread_id == get_ident():
                if execution.root.ended is not None:
                    raise Unwind
                waits = execution
            if parent.root.ended is not None and parent.root is not execution.root:
                # This request's client left, but other clients of the batch still wait.
                parent = None
        if parent is None:
            root = self._engine.open_requests.open_background()
            return Caller(root, None, waits, line)
        return Caller(parent.root, parent, waits, line)

    def current_execution(self) -> Execution | None:
        """Return the execution of this coroutine, or the instance's only one."""
        execution = current_execution.get()
        if execution is None or execution.instance is not self._instance:
            return self._instance.execution
        return execution

    def _run_many(self, message: RequestMessage, caller: Caller) -> Responses:
        started: Readable | None = None
        try:
            started = self._started(message, caller)
            responses = self._responses(started)
            # The call returns when the first response can be read.
            responses.get(0)
            return responses
        finally:
            # A stream ends its request itself.
            is_over = started is None or isinstance(started, SingleResponse)
            if is_over and caller.parent is None:
                self._engine.open_requests.end(caller.root)

    def _responses(self, responses: Readable) -> BlsResponses:
        # Since Triton 25.04 codes are kept, and every error is passed on.
        loses_errors = not self._router.keeps_codes
        return BlsResponses(
            responses, self.current_execution, self.as_released, loses_errors
        )

    def _started(self, message: RequestMessage, caller: Caller) -> Readable:
        try:
            if message.fields.parameters:
                self._check_parameters(message, caller)
            return self._router.route_many(message, caller)
        except RequestError as error:
            return SingleResponse(self._refusal(message, error))

    def _check_parameters(self, message: RequestMessage, caller: Caller) -> None:
        """Refuse parameters that Triton cannot send; the refusal is in the trace."""
        if not are_int64(message.fields.parameters):
            error = RequestError(UNSUPPORTED)
            self._router.record_refusal(message, caller, error)
            raise error

    def _refusal(self, message: RequestMessage, error: RequestError) -> ResponseMessage:
        keeps_codes = self._router.keeps_codes
        response = not_submitted(message.model_name, error.message, keeps_codes)
        text = "a BLS request of '%s' was refused: %s"
        server_event("W", text, self._instance.name, response.error)
        return response

    def as_released(self, response: ResponseMessage) -> ResponseMessage:
        """Return a BLS response as the followed Triton release does."""
        if not self._router.keeps_codes:
            response.code = "INTERNAL"
        elif response.code == OUT_OF_RESOURCES:
            # A model knows Triton's codes only.
            response.code = "UNAVAILABLE"
        return response

    def _run(self, message: RequestMessage, caller: Caller) -> ResponseMessage:
        try:
            if message.fields.parameters:
                self._check_parameters(message, caller)
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
            # A thread that the model started may outlive the request.
            reason = caller.root.ended
            text = "The request was cancelled."
            if isinstance(reason, InferenceError):
                text = reason.message
            return ResponseMessage(error=text, code="CANCELLED")
        finally:
            if caller.parent is None:
                self._engine.open_requests.end(caller.root)

    def note_error(self, response: InferenceResponse, model_name: str) -> None:
        """Record an error response; a note follows if the model never checks it."""
        execution = self.current_execution()
        if execution is None:
            return
        if execution.watched is None:
            execution.watched = []
        line = self._lines.innermost(2)
        execution.watched.append((response, model_name, line))

    def note(self, text: str) -> None:
        """Add a note to the current call, or to the next one."""
        execution = self.current_execution()
        if execution is None:
            self._instance.notes.queue(text, text)
        else:
            execution.inflight.note(text)

    def log(self, level: str, text: str, place: tuple[str, int] | None = None) -> None:
        """Write a line to the model's log and to the record of its call.

        Parameters
        ----------
        place
            File and line of the code that logs; None for the caller.
        """
        execution = self.current_execution()
        if execution is not None:
            if execution.thread_id == get_ident():
                execution.root.check_after_grace()
            keep_line(execution.call, level, text)
        if level != "PRINT":
            call = None if execution is None else execution.call
            self._log(level, text, *(place or log_position()), call)

    def is_model_ready(self, name: str, version: str) -> bool:
        """Whether a model, or a version of it, can serve."""
        return self._engine.catalog.is_ready(name, version)

    def load_model(self, name: str, config: str, files: dict[str, bytes]) -> None:
        """Load or reload a model, as part of the current execution."""
        execution = self.current_execution()
        root = self._instance.load_root
        if execution is not None and execution.thread_id == get_ident():
            root = execution.root
        try:
            self._control.load(name, config or None, files, root=root)
        except ModelLoadError as error:
            raise Refusal(error.message) from error

    def unload_model(self, name: str, unload_dependents: bool) -> None:
        """Unload a model; on request with the models that only it needed."""
        try:
            self._control.unload(name, unload_dependents=unload_dependents)
        except ModelLoadError as error:
            raise Refusal(error.message) from error

    def metric_family(self, name: str, description: str, kind: str) -> SampleFamily:
        """Return the server's metric family with a name."""
        return self._engine.metrics.family(name, description, kind)

    def refusal_text(self, text: str) -> str:
        """Return the text of a server error as the model receives it."""
        name = self._instance.name
        return f"Failed to process the request for model '{name}', message: {text}"

    def model_dir(self) -> str:
        """Return the folder of the model's version."""
        return str(Path(self._instance.model_file).parent)


class SourceLines:
    """Finds the line of a file that makes a call, and caches the lines.

    Python computes a frame's line from the start of its function each time.

    Parameters
    ----------
    filename
        As in the code objects of the file.
    """

    __slots__ = ("_filename", "_known")

    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._known: tuple[types.CodeType | None, dict[int, int]] = (None, {})
        """The latest function, and its known lines by the offset of the instruction."""

    def innermost(self, depth: int) -> int:
        """Return the line of the innermost frame of the file; 0 without one.

        Parameters
        ----------
        depth
            Number of blsnb frames to skip without creating frame objects.
        """
        try:
            frame: types.FrameType | None = sys._getframe(depth)
        except ValueError:
            return 0
        # One tuple: another thread may look up another function at the same time.
        known, lines = self._known
        while frame is not None:
            code = frame.f_code
            if code is known:
                return lines.get(frame.f_lasti) or self._count(frame)
            if code.co_filename == self._filename:
                self._known = (code, {})
                return self._count(frame)
            frame = frame.f_back
        return 0

    def _count(self, frame: types.FrameType) -> int:
        code, lines = self._known
        line = frame.f_lineno
        if code is frame.f_code:
            lines[frame.f_lasti] = line
        return line
