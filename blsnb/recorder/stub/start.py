"""Start of the recorder: what the model's process gets, and how it is taken back."""

from __future__ import annotations

import atexit
import builtins
import importlib.machinery
import os
import re
import sys
import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from blsnb.recorder.stub.bls_recorder import BlsRecorder
from blsnb.recorder.stub.model_recorder import ModelRecorder
from blsnb.recorder.stub.open_executions import OpenExecutions
from blsnb.recorder.stub.recording_files import RecordingFiles, report
from blsnb.recorder.stub.settings import InvalidSetting, matches, read_settings
from blsnb.recorder.stub.trampolines import attempt, between, executing, rewriting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from blsnb.recorder.stub.settings import RecorderSettings

_BACKEND = "c_python_backend_utils"
_MODEL_MODULE = re.compile(r"-?\d+\.[^.]+")
_MODEL_CLASS = "TritonPythonModel"
_INSTANCE = 8
"""Position of the instance's name among the arguments of the process."""
_SOURCE_BYTES = 1 << 18
"""Maximum number of bytes of a model's source in a file."""


class Patches:
    """Replaced attributes, which can be put back."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, bool, Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace an attribute of a class by what is made of it."""
        own = name in vars(owner)
        original = getattr(owner, name)
        self._before.append((owner, name, own, vars(owner).get(name)))
        setattr(owner, name, make(original))

    def restore(self) -> None:
        """Put all attributes back."""
        while self._before:
            owner, name, own, value = self._before.pop()
            if own:
                setattr(owner, name, value)
            else:
                delattr(owner, name)


class RunningRecorder:
    """The recorder of this process, from its start to its first fault."""

    def __init__(self, settings: RecorderSettings) -> None:
        self._settings = settings
        self._patches = Patches()
        self._ended = False
        self.faults = 0
        process = process_facts(_arguments())
        self.model: str = process["model"]
        sources = {process["model"]: _source(process["path"])}
        self._files = RecordingFiles(settings, process, sources, self.fail)
        self._executions = OpenExecutions(settings, self._files.add)
        facts = self.model, process["version"]
        common = self._executions, self.fail
        self._recorder = ModelRecorder(settings, *facts, process["instance"], *common)
        self._bls = BlsRecorder(settings, facts, *common)

    def fail(self, error: BaseException) -> None:
        """End the recording after a fault; the model continues without it."""
        self.faults += 1
        if self._ended:
            return
        self._ended = True
        try:
            self._patches.restore()
            self._executions.owners.left_out.clear()
            self._files.abandon()
            report(f"{type(error).__name__}: {error}; nothing more is recorded")
        except Exception:
            # Nobody reads stderr; the model continues all the same.
            self.faults += 1

    def apply(self, backend: Any, models: Sequence[Any]) -> None:
        """Put the hooks between models and the backend."""
        recorder, bls, replace = self._recorder, self._bls, self._replace
        hooks = recorder.begin, recorder.returned, recorder.raised
        for model in models:
            # The server's own error tells of a missing or unusual `execute`.
            if isinstance(getattr(model, "execute", None), types.FunctionType):
                replace(model, "execute", executing, *hooks)
        request, sender = backend.InferenceRequest, backend.InferenceResponseSender
        made = recorder.call_of, recorder.sender_made
        replace(request, "get_response_sender", between, *made)
        replace(sender, "send", between, recorder.sending, recorder.sent)
        replace(request, "__init__", rewriting, bls.requested)
        replace(request, "exec", between, bls.begins, bls.returned, bls.aborted)
        later = bls.begins, bls.async_returned, bls.aborted
        replace(request, "async_exec", between, *later)
        taken = bls.streaming, bls.streamed, bls.ended
        replace(backend.ResponseIterator, "__next__", between, *taken)
        replace(threading.Thread, "start", between, bls.adopt)
        replace(ThreadPoolExecutor, "submit", rewriting, bls.submitted)
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._forget)

    def _replace(self, owner: Any, name: str, make: Any, *hooks: Any) -> None:
        self._patches.replace(
            owner, name, lambda original: make(original, self.fail, *hooks)
        )

    def close(self) -> None:
        """Write what is left, as the process ends."""
        try:
            if not self._ended:
                self._executions.flush()
                self._files.close()
        except Exception as error:
            self.fail(error)

    def _forget(self) -> None:
        """Record nothing in a child of this process."""
        if not self._ended:
            self._ended = True
            self._patches.restore()
            self._files.forget()


class BackendFinder:
    """Finds the compiled module of the Python backend, and starts the recorder with it.

    The stub imports it after the model, while no code of the model runs.
    """

    def __init__(self, settings: RecorderSettings) -> None:
        self._settings = settings

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the specification of that module; None for others."""
        return attempt(_not_recorded, self._found, name)

    def _found(self, name: str) -> Any:
        if name != _BACKEND:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.BuiltinImporter.find_spec(name)
        if spec is not None:
            spec.loader = _Loader(self._settings)
        return spec


class _Loader(importlib.machinery.BuiltinImporter):
    def __init__(self, settings: RecorderSettings) -> None:
        self._settings = settings

    # The inherited functions belong to the class.
    def exec_module(self, module: Any) -> None:  # type: ignore[override]
        importlib.machinery.BuiltinImporter.exec_module(module)
        attempt(_not_recorded, self._begin, module)

    def _begin(self, module: Any) -> None:
        module.__loader__ = module.__spec__.loader = importlib.machinery.BuiltinImporter
        models = _loaded_models()
        if models:
            begin(self._settings, module, models)
        else:
            _await_model(lambda model: begin(self._settings, module, [model]))


def begin(
    settings: RecorderSettings, backend: Any, models: Sequence[Any]
) -> RunningRecorder:
    """Record the models of this process, if the settings name them."""
    recording = None
    try:
        recording = RunningRecorder(settings)
        if matches(recording.model, settings.models):
            recording.apply(backend, models)
        return recording
    except Exception as error:
        if recording is None:
            raise
        recording.fail(error)
        return recording


def _not_recorded(error: BaseException) -> None:
    report(f"{type(error).__name__}: {error}; nothing is recorded")


def _loaded_models() -> list[Any]:
    return [
        getattr(module, _MODEL_CLASS)
        for name, module in sys.modules.copy().items()
        if _MODEL_MODULE.fullmatch(name) and hasattr(module, _MODEL_CLASS)
    ]


def _await_model(found: Callable[[Any], Any]) -> None:
    """Find the class of a model that imports the compiled module itself."""
    original: Any = builtins.__build_class__

    def build(body: Any, name: str, *bases: Any, **named: Any) -> Any:
        made = original(body, name, *bases, **named)
        if name == _MODEL_CLASS:
            builtins.__build_class__ = original
            attempt(_not_recorded, found, made)
        return made

    builtins.__build_class__ = build  # type: ignore[assignment]  # the same arguments


def start() -> None:
    """Wait for the model, if this is its process and a folder is named."""
    if _BACKEND not in sys.builtin_module_names:
        return
    try:
        settings = read_settings(os.environ)
    except InvalidSetting as error:
        report(f"{error}; nothing is recorded")
        return
    if settings is not None:
        sys.meta_path.insert(0, BackendFinder(settings))


def process_facts(arguments: Sequence[str]) -> dict[str, Any]:
    """Return what a file says of the process, from the arguments of the stub."""
    path = arguments[1]
    version, folder = path.split("/")[-2], path.split("/")[-3]
    instance = arguments[_INSTANCE]
    named = instance.startswith(folder + "_")
    model = folder if named else re.sub(r"(_\d+){1,2}$", "", instance)
    return {
        "model": model,
        "version": int(version) if version.isdigit() else -1,
        "instance": instance,
        "path": path,
        "pid": os.getpid(),
        "python": sys.version.split()[0],
        "started_unix_ns": time.time_ns(),
    }


def _arguments() -> list[str]:
    with open("/proc/self/cmdline", "rb") as file:
        return [os.fsdecode(each) for each in file.read().split(b"\0")]


def _source(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_SOURCE_BYTES + 1)
    except (OSError, ValueError):
        return ""
    return text if len(text) <= _SOURCE_BYTES else ""
