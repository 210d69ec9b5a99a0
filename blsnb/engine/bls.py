"""InstanceBackend: what model code asks of the engine, for one instance."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from blsnb.engine.failure import is_ours
from blsnb.engine.inflight import Execution, Inflight
from blsnb.engine.root import RootRequest, Unwind
from blsnb.engine.validation import RequestError
from blsnb.errors import InferenceError
from blsnb.pb_utils.backend import BLS_OUTSIDE_EXECUTE
from blsnb.pb_utils.errors import TritonModelException
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.trace.events import CallFlag, LogLine

if TYPE_CHECKING:
    from blsnb.engine.instance import ModelInstance

_LEVELS = {
    "INFO": logging.INFO,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "VERBOSE": logging.DEBUG,
}
_INT64 = 2**63


class Caller:
    """Who makes a BLS request.

    Parameters
    ----------
    root
        The request from outside that it serves.
    parent
        The request below which it is drawn; None below none.
    execution
        The execution whose own thread waits for the answer; None if another
        thread does, which ties up no instance.
    line
        Line of the model's source that makes the request; 0 if unknown.
    flags
        Bits of the call in the trace.
    """

    __slots__ = ("execution", "flags", "line", "parent", "root")

    def __init__(
        self,
        root: RootRequest,
        parent: Inflight | None,
        execution: Execution | None,
        line: int,
        flags: int = 0,
    ) -> None:
        self.root = root
        self.parent = parent
        self.execution = execution
        self.line = line
        self.flags = flags


class Router(Protocol):
    """What the backend needs of the engine."""

    bls_codes_kept: bool
    """Whether a failed call keeps the code of its target (25.04 and later)."""

    def route(self, message: RequestMessage, caller: Caller) -> ResponseMessage:
        """Run a request on the model that it names."""

    def is_ready(self, name: str, version: str) -> bool:
        """Whether a model, or a version of it, can serve."""

    def background_root(self) -> RootRequest:
        """Return a root for work that no request from outside asked for."""

    def end_background(self, root: RootRequest) -> None:
        """End such a root."""

    def unready_text(self, name: str, reason: str) -> str:
        """Return the text for a model that cannot serve."""


class InstanceBackend:
    """The backend of one instance.

    Parameters
    ----------
    router
        The engine.
    instance
        Whose requests and log lines these are.
    log
        Takes level, text, file and line for the model's log.
    """

    def __init__(
        self,
        router: Router,
        instance: ModelInstance,
        log: Callable[[str, str, str, int], None],
    ) -> None:
        self._router = router
        self._instance = instance
        self._log = log

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

    def async_exec(
        self, message: RequestMessage, answer: Callable[[ResponseMessage], Any]
    ) -> asyncio.Future[Any]:
        """Run a request on a thread of the instance's fan-out pool."""
        loop = asyncio.get_running_loop()
        if not self._instance.ready:
            raise TritonModelException(BLS_OUTSIDE_EXECUTE)
        caller = self._caller(message)
        caller.execution = None
        caller.flags |= CallFlag.ASYNC
        context = contextvars.copy_context()
        return loop.run_in_executor(
            self._instance.threads.fan_out(),
            context.run,
            lambda: answer(self._run(message, caller)),
        )

    def _caller(self, message: RequestMessage) -> Caller:
        """Find out for whom a request is made."""
        execution = self._instance.execution
        mark = message.trace
        line = _line_in(self._instance.model_file)
        named = mark if isinstance(mark, Inflight) and not mark.final else None
        if execution is not None:
            own = execution.thread_id == threading.get_ident()
            parent = named or execution.inflight
            if own and parent.root.ended is not None:
                raise Unwind
            return Caller(parent.root, parent, execution if own else None, line)
        if named is not None:
            return Caller(named.root, named, None, line)
        return Caller(self._router.background_root(), None, None, line)

    def _run(self, message: RequestMessage, caller: Caller) -> ResponseMessage:
        try:
            if message.parameters:
                _check_parameters(message)
            response = self._router.route(message, caller)
            if not self._router.bls_codes_kept:
                response.code = "INTERNAL"
            return response
        except RequestError as error:
            return ResponseMessage(
                error=f"Model {message.model_name} - Error when running inference: "
                f"{self._router.unready_text(message.model_name, error.message)}"
            )
        except Unwind:
            if caller.execution is not None or caller.flags & CallFlag.ASYNC:
                raise
            # A thread of the model's own goes on after a request that has ended.
            reason = caller.root.ended
            text = "The request was cancelled."
            if isinstance(reason, InferenceError):
                text = reason.message
            return ResponseMessage(error=text, code="CANCELLED")
        finally:
            if caller.parent is None:
                self._router.end_background(caller.root)

    def log(self, level: str, text: str) -> None:
        """Write a line of the model's log, and of the call that it belongs to."""
        execution = self._instance.execution
        if execution is not None:
            if execution.thread_id == threading.get_ident():
                execution.root.check()
            call = execution.call
            if call.logs is None:
                call.logs = []
            call.logs.append(LogLine(time.monotonic_ns(), level, text))
        if level != "PRINT":
            filename, line = _user_frame()
            self._log(level, text, filename, line)

    def is_model_ready(self, name: str, version: str) -> bool:
        """Whether a model, or a version of it, can serve."""
        return self._router.is_ready(name, version)

    def model_dir(self) -> str:
        """Return the folder of the model's version."""
        return str(Path(self._instance.model_file).parent)


def _check_parameters(message: RequestMessage) -> None:
    for value in message.parameters.values():
        if isinstance(value, int) and not -_INT64 <= value < _INT64:
            raise RequestError("Unsupported value type on parameters")


def _line_in(filename: str) -> int:
    """Line of the innermost frame that runs a file; 0 if none does."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == filename:
            return frame.f_lineno
        frame = frame.f_back
    return 0


def _user_frame() -> tuple[str, int]:
    """File and line of the innermost frame that is not ours."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
