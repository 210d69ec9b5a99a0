"""Notes on the code of a model: misspelled hooks, and objects bound to a thread."""

from __future__ import annotations

import asyncio
import difflib
import inspect
import re
import sys
import threading
from typing import Any

from blsnb.engine.request.inflight import Execution

_ONE_THREAD = (
    "On Triton both run on one; here the parameter BLSNB_THREAD with the value "
    '"instance" in the model\'s configuration gives them one.'
)
_ABOUT_THREADS = re.compile(
    r"\b(in|same|other|another|different|main|current|wrong) thread\b|"
    r"thread-safe|event loop",
    re.IGNORECASE,
)
HOOKS = ("auto_complete_config", "initialize", "execute", "finalize")
_ALIKE = 0.78
"""Similarity of a method's name from which on a hook was probably meant."""


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
        self.owed: list[str] = []
        """Notes for the next run."""
        self.findings: list[str] = []
        """Probable mistakes in the model's code, for its card."""
        self.thread_id = 0
        """Identifier of the thread that ran ``initialize``."""
        self.thread_noted = False
        """Whether ``execute`` may run on any thread without another check."""

    def owe(self, subject: str, note: str) -> None:
        """Keep a note for the next run; one per subject."""
        if subject not in self.subjects:
            self.subjects.add(subject)
            self.owed.append(note)

    def warn(self, subject: str, note: str) -> None:
        """Keep a note for the next run, and for the model's card."""
        self.owe(subject, note)
        self.findings.append(note)

    def add_names(self, note: str, executes: bool) -> None:
        """Keep what is wrong with the names of a model's hooks.

        Parameters
        ----------
        note
            See `note_of_names`.
        executes
            Whether the model has an ``execute``.
        """
        if note:
            self.warn("names", note)
        if not executes:
            self.findings.append(
                "TritonPythonModel has no execute(): every request fails, as on Triton."
            )

    def deliver(self, execution: Execution) -> None:
        """Add the owed notes to an execution."""
        for note in self.owed:
            execution.inflight.note(note)
        self.owed = []

    def note_bound(
        self, execution: Execution, hook: object, model: object, module: object
    ) -> None:
        """Note what works on the thread of ``initialize`` only, once per model."""
        self.thread_noted = True
        if "thread" in self.subjects or inspect.iscoroutinefunction(hook):
            # On Triton, too, a coroutine runs on the thread of its event loop.
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
        """Note, beside an error about threads, that the hooks had different ones.

        Parameters
        ----------
        loop_thread
            Identifier of the thread of the instance's event loop.
        """
        if execution.thread_id in (self.thread_id, loop_thread):
            return
        noted = any(_ONE_THREAD in note for note in execution.call.notes or ())
        if is_about_threads(error) and not noted:
            execution.inflight.note(
                f"execute() of {self._instance} ran on another thread than its "
                f"initialize(). {_ONE_THREAD}"
            )


def note_of_names(instance: str, kind: type) -> str:
    """Return a note on methods with nearly the name of a hook; empty if there is none.

    Triton looks hooks up by name only: a model with an ``initialise`` loads.
    """
    missing = [hook for hook in HOOKS if not hasattr(kind, hook)]
    methods = [name for name in dir(kind) if not name.startswith("_")]
    meant = [
        f"{close[0]!r} ({hook}?)"
        for hook in missing
        if (close := difflib.get_close_matches(hook, methods, 1, _ALIKE))
        and callable(getattr(kind, close[0]))
        and close[0] not in HOOKS
    ]
    if not meant:
        return ""
    return f"Nobody calls {' or '.join(meant)} of {instance}: Triton has no such hook."


def has_hook(model: object, name: str) -> bool:
    """Whether a model has a hook, as far as that is known without calling its code."""
    dynamic = any("__getattr__" in vars(kind) for kind in type(model).__mro__)
    return dynamic or inspect.getattr_static(model, name, None) is not None


def is_about_threads(error: BaseException) -> bool:
    """Whether an exception's text blames the thread on which the code ran."""
    # Its own str() would be model code.
    arguments = vars(BaseException)["args"].__get__(error)
    texts = [each for each in arguments if type(each) is str]
    return any(_ABOUT_THREADS.search(text) for text in texts)


def bound_to_thread(model: object, module: object) -> str:
    """Return what of a model works only on the thread that created it.

    Attributes of the object and globals of its module are examined: sqlite3
    connections, thread-locals and event loops. Empty if there are none.
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
    return list(found.items()) if type(found) is dict else []


def _bound_kind(value: Any) -> str:
    kind = type(value)
    if issubclass(kind, threading.local):
        return "threading.local"
    if issubclass(kind, asyncio.AbstractEventLoop):
        return "an event loop"
    # Only a model that imported it has a connection.
    sqlite3 = sys.modules.get("sqlite3")
    if sqlite3 is not None and issubclass(kind, sqlite3.Connection):
        return "sqlite3.Connection" if _refuses_thread(sqlite3, value) else ""
    return ""


def _refuses_thread(sqlite3: Any, connection: Any) -> bool:
    """Whether a connection refuses this thread; one made for all threads does not."""
    try:
        sqlite3.Connection.cursor(connection).close()
    except sqlite3.ProgrammingError as error:
        return is_about_threads(error)
    return False
