"""Engine: the models in service, and the way of every request through them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from blsnb.engine.bls import Caller
from blsnb.engine.catalog import Catalog
from blsnb.engine.inflight import Inflight
from blsnb.engine.loader import Loader
from blsnb.engine.pool import Retired
from blsnb.engine.root import RootRequest, Unwind, interruptible
from blsnb.engine.threads import Abandoned
from blsnb.engine.validation import RequestError
from blsnb.engine.version import ServedVersion
from blsnb.errors import ModelLoadError, ServerClosedError
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.repository.directory import ModelDirectory
from blsnb.trace.events import Call, CallFlag, ModelInfo
from blsnb.trace.recorder import Recorder, RunRecord

_now = time.monotonic_ns
LogWriter = Callable[[str, str, str, str, int], None]


class Answer(NamedTuple):
    """A response, or why the request failed; and the record of what happened."""

    response: ResponseMessage
    record: RunRecord
    advice: str = ""


class Engine:
    """Loads models and runs requests; the owner of every thread.

    Parameters
    ----------
    recorder
        Where everything that happens is recorded.
    models_dirs
        Folders above the models' files.
    release
        Triton's release to agree with, such as ``(24, 10)``.
    hang_notice_s
        After this long a wait is reported.
    log
        Takes model, level, text, file and line of a model's log.
    """

    def __init__(
        self,
        recorder: Recorder,
        models_dirs: Sequence[Path],
        release: tuple[int, int],
        hang_notice_s: float,
        log: LogWriter,
    ) -> None:
        self.recorder = recorder
        self.bls_codes_kept = release >= (25, 4)
        self._release = release
        self._hang_notice_s = hang_notice_s
        self._models_dirs = tuple(map(str, models_dirs))
        self.catalog = Catalog()
        self.loader = Loader(self, threading.Lock(), log)
        self._load_lock = threading.RLock()
        self._closed = False

    def load(self, directory: ModelDirectory) -> None:
        """Load a model, or load it anew; what serves goes on until the new one can.

        Raises
        ------
        ModelLoadError
            The new model cannot serve; what was loaded before still does.
        """
        with self._load_lock:
            self._check_open()
            name = directory.name
            try:
                versions = self._load_interruptibly(directory)
            except ModelLoadError as error:
                if error.stage != "poll":
                    self.catalog.fail(name, directory.versions, error.reason)
                raise
            for version in self.catalog.put(name, versions):
                version.retire()

    def _load_interruptibly(
        self, directory: ModelDirectory
    ) -> dict[int, ServedVersion]:
        """Load, and let Ctrl-C in a hook be the user's, not the model's failure."""
        root = RootRequest(RunRecord(""), self._hang_notice_s)
        versions: dict[int, ServedVersion] = {}
        try:
            with interruptible(root, self._models_dirs):
                versions = self.loader.load(directory, root)
        except (ModelLoadError, Abandoned, Unwind):
            if root.ended is None:
                raise
        if root.ended is not None:
            for version in versions.values():
                version.retire()
            raise root.ended
        return versions

    def unload(self, name: str) -> None:
        """Stop serving a model; requests in flight are finished first."""
        with self._load_lock:
            for version in self.catalog.remove(name):
                version.retire()

    def infer(
        self,
        message: RequestMessage,
        deadline_ns: int = 0,
        begun: Callable[[RootRequest], None] | None = None,
    ) -> Answer:
        """Run a request from outside, on this thread.

        Parameters
        ----------
        begun
            Told of the request's life, so that another thread can cancel it.

        Raises
        ------
        WouldHang
            Triton would never answer.
        KeyboardInterrupt
            Ctrl-C ended the request.
        """
        __tracebackhide__ = True
        self._check_open()
        record = self.recorder.begin()
        root = RootRequest(record, self._hang_notice_s, deadline_ns)
        if begun is not None:
            begun(root)
        try:
            with interruptible(root, self._models_dirs):
                answer = self._answer(message, root)
        except KeyboardInterrupt as error:
            if not root.ended_by(error):
                raise
            answer = None
        finally:
            self._close_open_calls(record, root)
            self.recorder.end(record)
        if root.ended is not None:
            self._leave_behind(root)
            root.ended.run_record = record  # type: ignore[attr-defined]
            raise root.ended
        assert answer is not None
        return answer

    def _leave_behind(self, root: RootRequest) -> None:
        """Let fresh instances take over from those that still run for a request."""
        for version in self.catalog.all_versions():
            version.pool.leave_behind(root)

    def _answer(self, message: RequestMessage, root: RootRequest) -> Answer | None:
        __tracebackhide__ = True
        try:
            response = self.route(message, Caller(root, None, None, 0))
        except RequestError as error:
            refused = ResponseMessage(error=error.message, code=error.code)
            return Answer(refused, root.record, error.advice)
        except Unwind:
            return None
        return Answer(response, root.record)

    def _close_open_calls(self, record: RunRecord, root: RootRequest) -> None:
        """Mark what an ended request left open: it happened, and it has an end."""
        if root.ended is None:
            return
        now = _now()
        for call in record.calls:
            if not call.request_end_ns:
                call.request_end_ns = now
                call.flags |= CallFlag.CANCELLED | CallFlag.ERROR
                call.error = call.error or str(root.ended) or "interrupted"

    def route(self, message: RequestMessage, caller: Caller) -> ResponseMessage:
        """Run a request on the model that it names.

        Raises
        ------
        RequestError
            The request is refused before a model sees it.
        Unwind
            The whole request has ended.
        """
        __tracebackhide__ = True
        while True:
            served = self._admit(message, caller)
            try:
                return self._run_on(served, message, caller)
            except Retired:
                # Replaced between look-up and execution: ask its successor.
                continue

    def _admit(self, message: RequestMessage, caller: Caller) -> ServedVersion:
        try:
            served = self.catalog.find(message.model_name, message.model_version)
            served.validator.check(message)
        except RequestError as error:
            self._record_refusal(message, caller, error)
            raise
        return served

    def _run_on(
        self, served: ServedVersion, message: RequestMessage, caller: Caller
    ) -> ResponseMessage:
        __tracebackhide__ = True
        root = caller.root
        parent = None if caller.parent is None else caller.parent.call
        call = self.recorder.open(root.record, served.info, parent)
        call.request_start_ns = _now()
        call.request_id = message.request_id
        call.flags = caller.flags
        call.line = caller.line
        inflight = Inflight(message, root, call)
        execution = caller.execution
        if execution is not None:
            execution.blocked_on = inflight
        try:
            response = served.run(inflight, certain=execution is not None)
        except Retired:
            self.recorder.drop(root.record, call)
            raise
        finally:
            if execution is not None:
                execution.blocked_on = None
        if response.error is not None:
            call.flags |= CallFlag.ERROR
            call.error = response.error
            call.error_code = response.code
        self.recorder.close(root.record, call, message.inputs, response.outputs)
        return response

    def _record_refusal(
        self, message: RequestMessage, caller: Caller, error: RequestError
    ) -> None:
        """Record a refused request: Triton traces none, but its author must see it."""
        versions = self.catalog.versions(message.model_name)
        info = next((version.info for version in versions.values()), None)
        if info is None:
            info = ModelInfo(message.model_name, 0, "", "", "model", "")
        parent = None if caller.parent is None else caller.parent.call
        record = caller.root.record
        call = self.recorder.open(record, info, parent)
        _fill_refusal(call, message, caller, error)
        self.recorder.close(record, call, message.inputs, ())

    def unready_text(self, name: str, reason: str) -> str:
        """Return what a BLS caller reads of a model that cannot serve.

        Until 25.03 a BLS call asks for readiness first and words it so.
        """
        if reason.startswith("Request for unknown model") and not self.bls_codes_kept:
            return (
                "Failed for execute the inference request. Model "
                f"'{name}' is not ready."
            )
        return reason

    def is_ready(self, name: str, version: str) -> bool:
        """Whether a model, or a version of it, can serve."""
        return self.catalog.is_ready(name, version)

    def background_root(self) -> RootRequest:
        """Return a root for work that no request from outside asked for."""
        return RootRequest(self.recorder.begin(), self._hang_notice_s)

    def end_background(self, root: RootRequest) -> None:
        """End the record of such work."""
        self.recorder.end(root.record)

    def _check_open(self) -> None:
        if self._closed:
            raise ServerClosedError("the server was closed; make a new blsnb.Server()")

    def close(self) -> None:
        """Refuse new requests and finalize every model; safe to repeat."""
        with self._load_lock:
            self._closed = True
            for name in self.catalog.names():
                self.unload(name)


def _fill_refusal(
    call: Call, message: RequestMessage, caller: Caller, error: RequestError
) -> None:
    call.request_start_ns = call.request_end_ns = _now()
    call.request_id = message.request_id
    call.line = caller.line
    call.flags = caller.flags | CallFlag.ERROR
    call.error = error.message
    call.error_code = error.code
    if error.advice:
        call.notes = [error.advice]
