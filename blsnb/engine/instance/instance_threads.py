"""The threads of one instance: event loop, hook thread and fan-out pool."""

from __future__ import annotations

import asyncio
import contextvars
import re
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from blsnb.engine.instance.event_loop import JOIN_S, EventLoop
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.threads.outcome import Abandoned, Outcome, ends_soon
from blsnb.engine.threads.workers import Workers

T = TypeVar("T")
_FAN_OUT = 32
"""Maximum number of concurrent BLS requests of one instance.
It equals Triton's default thread-pool-size, and asyncio's pool on many cores."""


class InstanceThreads:
    """Starts the threads of an instance when they are first needed, and stops them.

    Parameters
    ----------
    name
        Triton's name of the instance, and of its threads.
    own_thread
        Whether all hooks run on one thread that belongs to the instance.
    """

    def __init__(self, name: str, own_thread: bool) -> None:
        self._name = name
        self.loop = EventLoop(name)
        self._fan_out: Workers | None = None
        self._own = Workers(1, name, keep=1) if own_thread else None
        self.inline = not own_thread
        """Whether hooks run on the caller's thread."""

    def call(self, root: RootRequest | None, work: Callable[[], T]) -> T:
        """Run a hook on the caller's thread, or on the instance's own.

        Raises
        ------
        Abandoned
            The request ended, and the hook may still run.
        OutOfResourcesError
            The instance's own thread cannot start.
        """
        __tracebackhide__ = True
        if self._own is None or self._own.has(threading.current_thread()):
            return work()
        outcome = Outcome()
        context = contextvars.copy_context()
        self._own.submit(context.run, outcome.settle, work)
        self._wait(root, outcome)
        if root is not None and outcome.error is not None:
            root.ended_by(outcome.error)
        result: T = outcome.get()
        return result

    def _wait(self, root: RootRequest | None, outcome: Outcome) -> None:
        __tracebackhide__ = True
        if root is None:
            outcome.waiter.wait()
            return
        try:
            root.wait(outcome.waiter)
        except BaseException:

            def interrupt(is_repeated: bool) -> None:
                outcome.is_interrupted = True
                root.interrupt_thread(outcome.thread_id, is_repeated)

            if not ends_soon(outcome, interrupt):
                root.leave_running(outcome.thread_id)
                raise Abandoned(outcome) from None

    def fan_out(self) -> Workers:
        """Return the pool that runs the requests of ``async_exec``."""
        if self._fan_out is None:
            self._fan_out = Workers(_FAN_OUT, f"{self._name} async_exec")
        return self._fan_out

    def close(self) -> None:
        """Stop the threads; one that cannot be stopped continues as a daemon."""
        self.loop.stop()
        for workers in (self._fan_out, self._own):
            if workers is not None:
                workers.shutdown(cancel_futures=True, wait_s=JOIN_S)


_ABOUT_THREADS = re.compile(
    r"\b(in|same|other|another|different|main|current|wrong) thread\b|"
    r"thread-safe|event loop",
    re.IGNORECASE,
)


def is_about_threads(error: BaseException) -> bool:
    """Whether the text of an exception is about threads or event loops."""
    # str() of another class would run model code.
    arguments = vars(BaseException)["args"].__get__(error)
    texts = [each for each in arguments if type(each) is str]
    return any(_ABOUT_THREADS.search(text) for text in texts)


def bound_to_thread(model: object, module: object) -> str:
    """Return the objects of a model that work only on the thread that created them.

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
        return is_about_threads(error)
    return False
