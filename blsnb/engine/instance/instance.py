"""ModelInstance: initialize, execute, finalize."""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blsnb.engine.instance.event_loop import LoopEnded
from blsnb.engine.instance.hooks import has_hook, note_of_names, unready
from blsnb.engine.instance.instance_threads import (
    InstanceThreads,
    bound_to_thread,
    is_about_threads,
)
from blsnb.engine.instance.placement import OnDevice
from blsnb.engine.instance.shared_state import SharedState, note_of_changes, snapshot
from blsnb.engine.instance.world import World
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.failure import describe, notes_of
from blsnb.engine.request.inflight import Execution, current_execution
from blsnb.engine.request.interrupts import boundary, interrupted_once
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.threads.outcome import Abandoned
from blsnb.errors import OutOfResourcesError
from blsnb.files.interrupts import uninterrupted
from blsnb.model.config import InstanceSpec
from blsnb.pb_utils.backend import Backend
from blsnb.pb_utils.compiled.releases import NEWEST, Release, has, too_new
from blsnb.pb_utils.module.module import compiled_module
from blsnb.pb_utils.request import InferenceRequest


class HookFailed(Exception):
    """A hook failed before the model served; the text is Triton's."""

    def __init__(self, text: str, cause: BaseException | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.cause = cause


@boundary
def _call(work: Callable[[], Any]) -> Any:
    """Call model code; error texts omit this frame and its callers."""
    __tracebackhide__ = True
    return work()


@interrupted_once
def _finalize(hook: Callable[[], Any]) -> Any:
    """Call ``finalize``, in which the model releases its resources."""
    __tracebackhide__ = True
    return hook()


_BOUNDARY = _call.__code__
_THREAD = "thread"
_ONE_THREAD = (
    "On Triton both run on one; here the parameter BLSNB_THREAD with the value "
    '"instance" in the model\'s configuration gives them one.'
)
_NAMES = "names"
_CLASS = "TritonPythonModel"


class ModelInstance:
    """One instance of a model: its isolated modules, and the model object.

    Parameters
    ----------
    name
        Triton's name of the instance, such as ``"add_sub_0_0"``.
    model_file
        Path of ``model.py``.
    bind
        Creates the backend of this instance.
    release
        The followed Triton release.
    own_thread
        Whether all hooks run on one thread that belongs to the instance.
    load_root
        The load that creates it, which Ctrl-C ends.
    """

    def __init__(
        self,
        name: str,
        model_file: Path,
        bind: Callable[[ModelInstance], Backend],
        release: Release = NEWEST,
        own_thread: bool = False,
        load_root: RootRequest | None = None,
    ) -> None:
        self.name = name
        self.model_file = str(model_file)
        self.threads = InstanceThreads(name, own_thread)
        self.execution: Execution | None = None
        """The current ``execute``; None while the instance is free."""
        self.ready = False
        """Whether ``initialize`` has finished, so that BLS is allowed."""
        self.spec = InstanceSpec(name, "CPU", 0)
        """Its instance group, as configured when it was created."""
        self.on_device: OnDevice | None = None
        """The device of its model's code; None for the host."""
        self._load_root = load_root
        self._release = release
        self.backend = bind(self)
        compiled = compiled_module(self.backend, release)
        self.world = World(name, model_file, self._printed, compiled)
        self.module: types.ModuleType | None = None
        self._class: Any = None
        """The model file's ``TritonPythonModel``; not necessarily a class."""
        self._thread_id = 0
        """Identifier of the thread that ran ``initialize``."""
        self._thread_noted = False
        self.noted: set[str] = set()
        """Subjects of the notes that were made for an instance of the model."""
        self._owed_notes: list[str] = []
        """Notes on the model for the next run."""
        self.findings: list[str] = []
        """Warnings about the model's code, such as a misspelled hook."""
        self._state_before: SharedState | None = snapshot()
        self.model: Any = None
        self.ready_hook: Callable[[], Any] | None = None
        """The model's own ``is_ready``, if it has one."""
        self.request_class: type[InferenceRequest] = InferenceRequest

    def _printed(self, text: str) -> None:
        self.backend.log("PRINT", text)

    def load(self) -> None:
        """Import the model's file.

        Raises
        ------
        HookFailed
            The import fails, or defines no TritonPythonModel.
        """
        self.module = module = self._hook(self.world.open)
        if _CLASS not in vars(module) and "__getattr__" not in vars(module):
            folder = Path(self.model_file).parent.name
            stem = Path(self.model_file).stem
            raise HookFailed(
                f"AttributeError: module '{folder}.{stem}' has no attribute '{_CLASS}'"
            )
        self._class = self._hook(functools.partial(_attribute, module, _CLASS))
        self.world.complete(self.backend)
        self.request_class = self.world.pb_utils.InferenceRequest

    @property
    def load_root(self) -> RootRequest | None:
        """The load that creates it; None once it serves."""
        return self._load_root

    @property
    def completes_config(self) -> bool:
        """Whether the class has ``auto_complete_config``."""
        return self._found(self._class, "auto_complete_config") is not None

    def auto_complete(self, config: Any) -> Any:
        """Call ``auto_complete_config`` on the class.

        Raises
        ------
        HookFailed
            The hook raises.
        """
        return self._hook(lambda: self._class.auto_complete_config(config))

    def initialize(self, args: dict[str, str]) -> None:
        """Create the model object and call its ``initialize``.

        Raises
        ------
        HookFailed
            The constructor or the hook raises.
        """
        device = self.on_device
        work = functools.partial(self._initialize, args)
        self._hook(work if device is None else functools.partial(device.call, work))
        self._compare_state()
        self.ready = True
        self._load_root = None

    def _compare_state(self) -> None:
        before, self._state_before = self._state_before, None
        if before is not None:
            finding = note_of_changes(self.name, before, snapshot())
            self.findings += [finding] if finding else []

    def _initialize(self, args: dict[str, str]) -> None:
        self._thread_id = threading.get_ident()
        self.model = self._class()
        self._queue_note_of_names(type(self.model))
        # Looked up on the object: a constructor may have set it.
        hook = self._found(self.model, "initialize")
        ready_hook = self._found(self.model, "is_ready")
        if has("is_ready", self._release):
            self.ready_hook = ready_hook
        elif ready_hook is not None:
            self._owed_notes.append(too_new("is_ready"))
        if hook is not None:
            result = hook(args)
            if inspect.iscoroutine(result):
                # Triton calls it and never awaits it.
                result.close()

    def _found(self, owner: Any, name: str) -> Any:
        """Return an attribute of the model, or None for none.

        As with `PyObject_HasAttr` on Triton, any exception of the look-up means
        missing.
        """
        __tracebackhide__ = True
        try:
            return getattr(owner, name)
        except BaseException as error:
            self._check_ended()
            there = inspect.getattr_static(owner, name, None) is not None
            if there or not isinstance(error, AttributeError):
                self._queue_note(
                    name,
                    f"{name} of {self.name} is missing to Triton, since looking it up "
                    f"raises {describe(error, _FOUND_BOUNDARY)}",
                )
            return None

    def _check_ended(self) -> None:
        """Unwind if the load or request has ended: Ctrl-C is not a model's error."""
        execution = self.execution
        root = self._load_root if execution is None else execution.root
        if root is not None:
            root.check()

    def _queue_note_of_names(self, kind: type) -> None:
        try:
            note = note_of_names(self.name, kind)
        except BaseException:
            # A metaclass may refuse any access.
            self._check_ended()
            return
        if note:
            self._queue_note(_NAMES, note)
            self.findings.append(note)
        if not has_hook(self.model, "execute"):
            self.findings.append(
                "TritonPythonModel has no execute(): every request fails, as on Triton."
            )

    def _queue_note(self, subject: str, note: str) -> None:
        """Keep a note for the next run, at most one per subject."""
        if subject not in self.noted:
            self.noted.add(subject)
            self._owed_notes.append(note)

    def _hook(self, work: Callable[[], Any]) -> Any:
        """Call a hook other than ``execute``; any exception becomes HookFailed."""
        __tracebackhide__ = True
        try:
            return self.threads.call(self._load_root, lambda: self._guard(work))
        except OutOfResourcesError as error:
            raise HookFailed(error.message, error) from error

    def _guard(self, work: Callable[[], Any]) -> Any:
        __tracebackhide__ = True
        try:
            return _call(work)
        except BaseException as error:
            if self._load_root is not None:
                self._load_root.ended_by(error)
            raise HookFailed(describe(error, _BOUNDARY), error) from error

    def execute(self, root: RootRequest, requests: list[InferenceRequest]) -> Any:
        """Call ``execute`` and return what it returns; a coroutine is awaited.

        Raises
        ------
        ExecuteFailed
            The model raises.
        Unwind, Abandoned
            The request has ended.
        """
        __tracebackhide__ = True
        hook = self._found(self.model, "execute")
        if hook is None:
            if self.execution is not None:
                self._note_queued(self.execution)
            raise ExecuteFailed(
                f"Python model {self.model_file} does not implement `execute` method."
            )
        if self.threads.inline:
            return self._execute(root, hook, requests)
        return self.threads.call(root, lambda: self._execute(root, hook, requests))

    def _execute(
        self,
        root: RootRequest,
        hook: Callable[[list[InferenceRequest]], Any],
        requests: list[InferenceRequest],
    ) -> Any:
        __tracebackhide__ = True
        execution = self.execution
        if execution is not None:
            # With BLSNB_THREAD=instance it is not the caller's thread.
            execution.thread_id = threading.get_ident()
            if execution.thread_id != self._thread_id and not self._thread_noted:
                self._note_bound(execution, hook)
            if self._owed_notes:
                self._note_queued(execution)
        if root.ended is not None:
            raise Unwind
        if self.on_device is not None:
            hook = functools.partial(self.on_device.execute, execution, hook)
        try:
            return self._run_hook(root, hook, requests)
        except Unwind as error:
            root.ended_by(error)
            raise
        except Abandoned:
            raise
        except OutOfResourcesError as error:
            raise ExecuteFailed(error.message, error, error.code) from error
        except BaseException as error:
            if root.ended_by(error):
                raise Unwind from error
            if execution is not None and is_about_threads(error):
                self._note_thread(execution)
            raise ExecuteFailed(describe(error, _HOOK_BOUNDARY), error) from error

    def _note_queued(self, execution: Execution) -> None:
        for note in self._owed_notes:
            execution.inflight.note(note)
        self._owed_notes = []

    def _note_bound(self, execution: Execution, hook: Callable[..., Any]) -> None:
        """Note, once per model, objects that work on one thread only."""
        self._thread_noted = True
        if _THREAD in self.noted or inspect.iscoroutinefunction(hook):
            # A coroutine runs on the thread of its event loop on Triton, too.
            return
        found = bound_to_thread(self.model, self.module)
        if found:
            self.noted.add(_THREAD)
            execution.inflight.note(
                f"{found} of {self.name} is bound to the thread of initialize(), and "
                f"execute() ran on another one. {_ONE_THREAD}"
            )

    def _note_thread(self, execution: Execution) -> None:
        """Add to an error about threads that the hooks ran on different ones."""
        if execution.thread_id in (self._thread_id, self.threads.loop.thread_id):
            return
        if not any(_ONE_THREAD in note for note in execution.call.notes or ()):
            execution.inflight.note(
                f"execute() of {self.name} ran on another thread than its "
                f"initialize(). {_ONE_THREAD}"
            )

    @boundary
    def _run_hook(
        self,
        root: RootRequest,
        hook: Callable[[list[InferenceRequest]], Any],
        requests: list[InferenceRequest],
    ) -> Any:
        __tracebackhide__ = True
        result = hook(requests)
        if type(result) is list or not asyncio.iscoroutine(result):
            return result
        try:
            self.threads.loop.start()
        except OutOfResourcesError:
            result.close()
            raise
        execution = self.execution
        ended = functools.partial(self._loop_ended, root, execution)
        if execution is None:
            return self.threads.loop.run(root, result, ended)
        execution.thread_id = self.threads.loop.thread_id
        token = current_execution.set(execution)
        try:
            if not execution.inflight.decoupled:
                return self.threads.loop.run(root, result, ended)
            # As on Triton, coroutines of any number of requests interleave.
            lost = functools.partial(self._lost, execution)
            self.threads.loop.start_soon(result, lost, ended)
            return None
        finally:
            current_execution.reset(token)

    def _loop_ended(
        self, root: RootRequest, execution: Execution | None, ended: LoopEnded
    ) -> None:
        """End the requests of a coroutine whose event loop has ended."""
        why = "stopped it"
        if ended.cause is not None:
            why = f"ended it with {describe(ended.cause, _HOOK_BOUNDARY)}"
        error = hang.loop_ended(self.execute_place, why)
        for inflight in [] if execution is None else execution.inflights:
            if not inflight.final:
                inflight.root.end(error)
                inflight.wake()
        if execution is None or not execution.inflight.decoupled:
            root.end(error)

    def _lost(self, execution: Execution, error: BaseException) -> None:
        """Log and note an exception that no client receives."""
        if execution.root.ended is not None:
            return
        text = describe(error, _HOOK_BOUNDARY)
        for inflight in execution.inflights:
            inflight.note(
                f"execute() of {self.name} raised, and Triton only logs that for an "
                f"asynchronous decoupled model: {text}"
            )
        for note in notes_of(error):
            inflight.note(note)
        self.backend.log("ERROR", text)

    def unready(self) -> str:
        """Return why the model's ``is_ready`` fails; empty if it is ready."""
        if self.ready_hook is None:
            return ""
        return unready(self.name, self.ready_hook, self.threads)

    @property
    def execute_place(self) -> str:
        """The location of ``execute``, for messages."""
        # Static look-up, because properties are model code.
        hook = inspect.getattr_static(self.model, "execute", None)
        hook = hook.__func__ if isinstance(hook, types.MethodType) else hook
        while isinstance(hook, types.FunctionType) and "__wrapped__" in vars(hook):
            hook = vars(hook)["__wrapped__"]
        code = hook.__code__ if isinstance(hook, types.FunctionType) else None
        line = f" (line {code.co_firstlineno} of its source)" if code else ""
        return f"execute() of {self.name}{line}"

    def running_place(self, execution: Execution) -> str:
        """Return a sentence with the running line of an abandoned execution."""
        frame = sys._current_frames().get(execution.thread_id)
        while frame is not None and frame.f_code.co_filename != self.model_file:
            frame = frame.f_back
        line = f" line {frame.f_lineno} of {_file(frame)}" if frame is not None else ""
        age_ns = time.monotonic_ns() - execution.call.compute_start_ns
        since = time.strftime("%H:%M:%S", time.localtime(time.time() - age_ns / 1e9))
        return (
            f"{self.name} is still running{line}, since {since}: Ctrl-C did not end it"
        )

    def finalize(self) -> None:
        """Call ``finalize``; its failure is only logged, as on Triton."""
        self.ready = False
        self.threads.loop.stop()
        hook = self._found(self.model, "finalize")
        if hook is not None:
            try:
                self._hook(functools.partial(_finalize, hook))
            except HookFailed as failure:
                self.backend.log("INFO", failure.text)
        self.discard()

    def discard(self) -> None:
        """Close the instance without ``finalize``, if it never served."""
        # Uninterrupted: a second Ctrl-C would leave the model's modules in
        # `sys.modules`.
        uninterrupted(self._discard)

    def _discard(self) -> None:
        self.ready = False
        self.model = None
        self.threads.close()
        self.world.close()


def _file(frame: types.FrameType) -> str:
    return Path(frame.f_code.co_filename).name


def _attribute(owner: Any, name: str) -> Any:
    return getattr(owner, name)


_HOOK_BOUNDARY = ModelInstance._run_hook.__code__
_FOUND_BOUNDARY = ModelInstance._found.__code__


class ExecuteFailed(Exception):
    """``execute`` raised; the text is Triton's, without its prefix."""

    def __init__(
        self, text: str, cause: BaseException | None = None, code: str = "INTERNAL"
    ) -> None:
        super().__init__(text)
        self.text = text
        self.cause = cause
        self.code = code
