"""An instance of a model: initialized, executed, finalized."""

from __future__ import annotations

import functools
import inspect
import json
import threading
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blsnb.engine.instance.instance_modules import InstanceModules
from blsnb.engine.instance.instance_threads import InstanceThreads, not_ready_reason
from blsnb.engine.instance.model_notes import (
    ModelNotes,
    has_execute,
    note_of_names,
    static_attribute,
)
from blsnb.engine.instance.placement import OnDevice
from blsnb.engine.instance.shared_state import note_of_changes, snapshot
from blsnb.engine.request.failure import describe
from blsnb.engine.request.inflight import Execution, current_execution
from blsnb.engine.request.interrupts import boundary, interrupted_once
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.threads.running_loop import without_loop
from blsnb.errors import OutOfResourcesError
from blsnb.files.interrupts import uninterrupted
from blsnb.model.config import InstanceSpec
from blsnb.pb_utils.backend import EngineCalls
from blsnb.pb_utils.compiled.releases import NEWEST, Release, has, too_new
from blsnb.pb_utils.config import ModelConfig
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


Around = Callable[[Execution, Callable[[Any], Any], Any], Any]
"""Receives the execution, the hook and its requests; returns what the hook returns."""
_BOUNDARY = _call.__code__
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
        bind: Callable[[ModelInstance], EngineCalls],
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
        self.device: OnDevice | None = None
        """Runs ``initialize`` on a device; None for the host."""
        self.around: Around | None = None
        """Calls ``execute``, on a device or while it is measured; None for neither."""
        self.load_root = load_root
        """The load that creates it; None once it serves."""
        self._release = release
        self.backend = bind(self)
        self.own_modules = InstanceModules(name, model_file, self.backend, release)
        self.own_modules.execution_on = self._execution_on
        self.module: types.ModuleType | None = None
        self._class: Any = None
        """The model file's ``TritonPythonModel``; not necessarily a class."""
        self.notes = ModelNotes(name)
        self._state_before = snapshot()
        self.model: Any = None
        self.ready_hook: Callable[[], Any] | None = None
        """The model's own ``is_ready``, if it has one."""
        self.request_class: type[InferenceRequest] = InferenceRequest

    def load(self) -> None:
        """Import the model's file.

        Raises
        ------
        HookFailed
            The import fails, or defines no TritonPythonModel.
        """
        self.module = module = self._hook(self.own_modules.open)
        if _CLASS not in vars(module) and "__getattr__" not in vars(module):
            folder = Path(self.model_file).parent.name
            stem = Path(self.model_file).stem
            raise HookFailed(
                f"AttributeError: module '{folder}.{stem}' has no attribute '{_CLASS}'"
            )
        self._class = self._hook(functools.partial(getattr, module, _CLASS))
        self.own_modules.complete()
        self.request_class = self.own_modules.pb_utils.InferenceRequest

    @property
    def completes_config(self) -> bool:
        """Whether the class has ``auto_complete_config``."""
        return self.found(self._class, "auto_complete_config") is not None

    def auto_complete(self, config: Any) -> Any:
        """Call ``auto_complete_config`` on the class.

        Raises
        ------
        HookFailed
            The hook raises.
        """
        return self._hook(lambda: self._class.auto_complete_config(config))

    def json_of(self, completed: ModelConfig) -> str:
        """Return the JSON text of a completed configuration.

        Raises
        ------
        HookFailed
            A value is not one of JSON's.
        """
        # Not a method that a model's own class may override.
        text: str = self._hook(lambda: json.dumps(ModelConfig.as_dict(completed)))
        return text

    def initialize(self, args: dict[str, str]) -> None:
        """Create the model object and call its ``initialize``.

        Raises
        ------
        HookFailed
            The constructor or the hook raises.
        """
        work = functools.partial(self._initialize, args)
        if self.device is not None:
            work = functools.partial(self.device.call, work)
        self._hook(work)
        finding = note_of_changes(self.name, self._state_before, snapshot())
        self.notes.findings += [finding] if finding else []
        del self._state_before
        self.ready = True
        self.load_root = None

    def _initialize(self, args: dict[str, str]) -> None:
        self.notes.thread_id = threading.get_ident()
        self.model = self._class()
        self._queue_note_of_names(type(self.model))
        # Looked up on the object: a constructor may have set it.
        hook = self.found(self.model, "initialize")
        ready_hook = self.found(self.model, "is_ready")
        if has("is_ready", self._release):
            self.ready_hook = ready_hook
        elif ready_hook is not None:
            self.notes.queued.append(too_new("is_ready"))
        if hook is not None:
            result = hook(args)
            if inspect.iscoroutine(result):
                # Triton calls it and never awaits it.
                result.close()

    def found(self, owner: Any, name: str) -> Any:
        """Return an attribute of the model; None if it is missing.

        As with `PyObject_HasAttr` on Triton, any exception of the look-up means
        missing.
        """
        __tracebackhide__ = True
        try:
            return getattr(owner, name)
        except BaseException as error:
            self._check_ended()
            there = static_attribute(owner, name) is not None
            if there or not isinstance(error, AttributeError):
                self.notes.queue(
                    name,
                    f"{name} of {self.name} is missing to Triton, since looking it up "
                    f"raises {describe(error, _FOUND_BOUNDARY)}",
                )
            return None

    def _execution_on(self, thread_id: int) -> Execution | None:
        """Return the execution that one of the instance's threads works for."""
        loop = self.threads.loop
        if thread_id != loop.thread_id:
            return self.execution
        # Coroutines of several requests share the thread.
        return loop.value_of(current_execution) or self.execution

    def _check_ended(self) -> None:
        """Unwind if the load or request has ended: Ctrl-C is not a model's error."""
        execution = self.execution
        root = self.load_root if execution is None else execution.root
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
            self.notes.warn("names", note)
        if not has_execute(self.model):
            self.notes.findings.append(
                "TritonPythonModel has no execute(): every request fails, as on Triton."
            )

    def _hook(self, work: Callable[[], Any]) -> Any:
        """Call a hook other than ``execute``; any exception becomes HookFailed."""
        __tracebackhide__ = True
        try:
            return self.threads.call(self.load_root, lambda: self._guard(work))
        except OutOfResourcesError as error:
            raise HookFailed(error.message, error) from error

    def _guard(self, work: Callable[[], Any]) -> Any:
        __tracebackhide__ = True
        try:
            return without_loop(_call, work)
        except BaseException as error:
            if self.load_root is not None:
                self.load_root.ended_by(error)
            raise HookFailed(describe(error, _BOUNDARY), error) from error

    def not_ready_reason(self) -> str:
        """Return why the model's ``is_ready`` fails; empty if it is ready."""
        if self.ready_hook is None:
            return ""
        return not_ready_reason(self.name, self.ready_hook, self.threads)

    @property
    def execute_place(self) -> str:
        """The location of ``execute``, for messages."""
        # Static look-up, because properties are model code.
        hook = static_attribute(self.model, "execute")
        if isinstance(hook, types.MethodType | staticmethod):
            hook = hook.__func__
        while isinstance(hook, types.FunctionType) and "__wrapped__" in vars(hook):
            hook = vars(hook)["__wrapped__"]
        code = hook.__code__ if isinstance(hook, types.FunctionType) else None
        line = f" (line {code.co_firstlineno} of its source)" if code else ""
        return f"execute() of {self.name}{line}"

    def finalize(self) -> None:
        """Call ``finalize``; its failure is only logged, as on Triton."""
        self.ready = False
        self.threads.loop.stop()
        hook = self.found(self.model, "finalize")
        if hook is not None:
            try:
                self._hook(functools.partial(_finalize, hook))
            except HookFailed as failure:
                place = _place_of(failure.cause, self.model_file)
                self.backend.log("INFO", failure.text, place)
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
        self.own_modules.close()


def _place_of(error: BaseException | None, model_file: str) -> tuple[str, int]:
    """Return file and line in a model's file that raised an exception."""
    frames = traceback.extract_tb(None if error is None else error.__traceback__)
    lines = [frame.lineno or 0 for frame in frames if frame.filename == model_file]
    return model_file, lines[-1] if lines else 0


_FOUND_BOUNDARY = ModelInstance.found.__code__
