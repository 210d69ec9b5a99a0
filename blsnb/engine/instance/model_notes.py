"""Notes on the code of a model: misspelled hooks, and objects bound to a thread."""

from __future__ import annotations

import ast
import asyncio
import difflib
import inspect
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from blsnb.engine.request.inflight import Execution

_ONE_THREAD = (
    "On Triton both run on one; here the parameter BLSNB_THREAD with the value "
    '"instance" in the model\'s configuration gives them one.'
)
_ABOUT_THREADS = (
    r"(?i)\b(in|same|other|another|different|main|current|wrong) thread\b|"
    r"thread-safe|event loop"
)
_HOOKS = ("auto_complete_config", "initialize", "execute", "finalize")
_TRITON_ARGV = [""]
_MAYBE_ARGV = r"\bargv\b|\bparse_(known_)?args\b"
_ALIKE = 0.78
"""Minimum similarity of a method's name to a hook that it probably means."""

# Read in this way, no metaclass takes part.
_MRO = type.__dict__["__mro__"].__get__
_CLASS_ATTRIBUTES = type.__dict__["__dict__"].__get__


class ModelNotes:
    """Notes on the code of a model, which its next run receives.

    Parameters
    ----------
    instance
        Triton's name of the instance.
    """

    def __init__(self, instance: str) -> None:
        self._instance = instance
        self.subjects: set[str] = set()
        """Subjects already noted; all instances of a model share the set."""
        self.queued: list[str] = []
        """Notes for the next run."""
        self.findings: list[str] = []
        """Probable mistakes in the model's code, for its card."""
        self.thread_id = 0
        """Identifier of the thread that ran ``initialize``."""
        self.thread_noted = False
        """Whether ``execute`` may run on any thread without another check."""

    def queue(self, subject: str, note: str) -> None:
        """Keep a note for the next run, at most one per subject."""
        if subject not in self.subjects:
            self.subjects.add(subject)
            self.queued.append(note)

    def warn(self, subject: str, note: str) -> None:
        """Keep a note for the next run, and for the model's card."""
        self.queue(subject, note)
        self.findings.append(note)

    def deliver(self, execution: Execution) -> None:
        """Add the queued notes to an execution."""
        for note in self.queued:
            execution.inflight.note(note)
        self.queued = []

    def note_bound(
        self, execution: Execution, hook: object, model: object, module: object
    ) -> None:
        """Note, once per model, objects that work on one thread only."""
        self.thread_noted = True
        if "thread" in self.subjects or inspect.iscoroutinefunction(hook):
            # A coroutine runs on the thread of its event loop on Triton, too.
            return
        found = bound_to_thread(model, module)
        if found:
            self.subjects.add("thread")
            execution.inflight.note(
                f"{found} of {self._instance} is bound to the thread of initialize(), "
                f"and execute() ran on another one. {_ONE_THREAD}"
            )

    def note_thread(
        self, execution: Execution, error: BaseException, loop_thread: int
    ) -> None:
        """Add to an error about threads that the hooks ran on different ones.

        Parameters
        ----------
        loop_thread
            Identifier of the thread of the instance's event loop.
        """
        if execution.thread_id in (self.thread_id, loop_thread):
            return
        noted = any(_ONE_THREAD in note for note in execution.call.notes or ())
        if _is_about_threads(error) and not noted:
            execution.inflight.note(
                f"execute() of {self._instance} ran on another thread than its "
                f"initialize(). {_ONE_THREAD}"
            )


def note_of_names(instance: str, kind: type) -> str:
    """Return a note on methods that look like misspelled hooks; empty without any.

    Triton looks hooks up by name, so that a model with an ``initialise`` loads.
    """
    missing = [hook for hook in _HOOKS if not hasattr(kind, hook)]
    methods = [name for name in dir(kind) if not name.startswith("_")]
    meant = [
        f"{close[0]!r} ({hook}?)"
        for hook in missing
        if (close := difflib.get_close_matches(hook, methods, 1, _ALIKE))
        and callable(getattr(kind, close[0]))
        and close[0] not in _HOOKS
    ]
    if not meant:
        return ""
    return f"Triton never calls {' or '.join(meant)} of {instance}: it is not a hook."


def note_of_argv(source: str) -> str:
    """Return a note on the first line that reads ``sys.argv``; empty without one.

    On Triton it is ``[""]``; in a kernel it has the kernel's arguments.
    """
    if sys.argv == _TRITON_ARGV or not re.search(_MAYBE_ARGV, source):
        return ""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ""
    found: Iterator[Any] = filter(_reads_argv, ast.walk(tree))
    lines = [node.lineno for node in found]
    if not lines:
        return ""
    return (
        f"Line {min(lines)} of model.py reads sys.argv, which is [''] on Triton; here "
        "it has the arguments of this process. Read parameters of the configuration "
        "instead."
    )


def _reads_argv(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="sys"), attr="argv"):
            return True
        case ast.ImportFrom(module="sys", names=names, level=0):
            return any(alias.name == "argv" for alias in names)
        case ast.Call(func=ast.Attribute(attr=name), args=[], keywords=[]):
            return name in ("parse_args", "parse_known_args")
    return False


def has_execute(model: object) -> bool:
    """Whether a model has ``execute``, as far as known without running its code."""
    try:
        dynamic = any("__getattr__" in vars(kind) for kind in type(model).__mro__)
    except BaseException:
        # A metaclass runs at any access of its class.
        return True
    return dynamic or static_attribute(model, "execute") is not None


def static_attribute(owner: object, name: str) -> Any:
    """Return an attribute without calling its descriptor; None if it is missing."""
    # `inspect.getattr_static` of Python 3.12 keeps each class that it is asked about.
    try:
        found = (each[name] for each in _static_attributes(owner) if name in each)
        return next(found, None)
    except BaseException:
        # A property `__dict__` is the model's code.
        return None


def _static_attributes(owner: object) -> Iterator[Mapping[str, Any]]:
    """Generate the attributes of an object, then those of each of its classes."""
    kind = type(owner)
    if issubclass(kind, type):
        yield from map(_CLASS_ATTRIBUTES, _MRO(owner))
    else:
        with suppress(AttributeError):
            yield object.__getattribute__(owner, "__dict__")
    yield from map(_CLASS_ATTRIBUTES, _MRO(kind))


def _is_about_threads(error: BaseException) -> bool:
    """Whether the text of an exception is about threads or event loops."""
    # str() of another class would run model code.
    arguments = vars(BaseException)["args"].__get__(error)
    texts = [each for each in arguments if type(each) is str]
    return any(re.search(_ABOUT_THREADS, text) for text in texts)


def bound_to_thread(model: object, module: object) -> str:
    """Return the objects of a model that work only on the thread that created them.

    Attributes of the object and globals of its module are examined: sqlite3
    connections, thread-locals and event loops. Empty without any.
    """
    for owner, prefix in ((model, "self."), (module, "")):
        for name, value in _variables(owner):
            if kind := _bound_kind(value):
                return f"{prefix}{name} ({kind})"
    return ""


def _variables(owner: object) -> list[tuple[str, Any]]:
    try:
        found = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return []
    return list(found.copy().items()) if type(found) is dict else []


def _bound_kind(value: Any) -> str:
    kind = type(value)
    if issubclass(kind, threading.local):
        return "threading.local"
    if issubclass(kind, asyncio.AbstractEventLoop):
        return "an event loop"
    # Without the import there are no connections.
    sqlite3 = sys.modules.get("sqlite3")
    if sqlite3 is not None and issubclass(kind, sqlite3.Connection):
        return "sqlite3.Connection" if _refuses_thread(sqlite3, value) else ""
    return ""


def _refuses_thread(sqlite3: Any, connection: Any) -> bool:
    """Whether a connection cannot be used on this thread."""
    try:
        sqlite3.Connection.cursor(connection).close()
    except sqlite3.ProgrammingError as error:
        return _is_about_threads(error)
    return False
