"""Which execution a BLS call belongs to: known, or not named at all."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blsnb.recorder.stub.executions import Execution, RecordedCall

_GIVEN = "given"
"""Home of work that certainly belongs to an open execution."""


class Owner(NamedTuple):
    """What runs where a BLS call is made."""

    execution: Execution | None
    """None for one that is not recorded."""
    call: RecordedCall | None
    """The request, if it is known."""
    home: Any
    """Thread and task that certainly work for the execution while it runs, or
    `_GIVEN`."""
    request: Any
    """Weak reference to the request, if there is only one; else None."""


class Owners:
    """The owners of threads, tasks and objects of the model."""

    def __init__(self) -> None:
        self._current: contextvars.ContextVar[Owner | None] = contextvars.ContextVar(
            "blsnb_execution", default=None
        )
        self.open: dict[int, Execution] = {}
        """Executions that are not complete, by number."""
        self.calls: weakref.WeakKeyDictionary[Any, RecordedCall] = (
            weakref.WeakKeyDictionary()
        )
        """Requests and response senders of the model, with their calls."""
        self._threads: weakref.WeakKeyDictionary[threading.Thread, Owner] = (
            weakref.WeakKeyDictionary()
        )

    def enter(self, execution: Execution | None, requests: Sequence[Any]) -> Any:
        """Make an execution the owner of this thread and task."""
        single = len(requests) == 1
        call = execution.calls[0] if execution is not None and single else None
        request = weakref.ref(requests[0]) if single else None
        return self._current.set(Owner(execution, call, _here(), request))

    def enter_as(self, owner: Owner) -> Any:
        """Make the owner of submitted work that of this thread."""
        return self._current.set(owner._replace(home=_GIVEN))

    def leave(self, token: Any) -> None:
        """Restore the owner before `enter`."""
        self._current.reset(token)

    def owner(self) -> Owner | None:
        """Return the owner of the code that runs; None if it is not known."""
        here = _here()
        found = self._current.get()
        if found is None:
            # The public functions would make an object for a foreign thread.
            active = getattr(threading, "_active", {})
            thread = active.get(here[0])
            found = None if thread is None else self._threads.get(thread)
        if found is None or found.execution is None:
            return found
        execution = found.execution
        if found.home == here and execution.running:
            return found
        certain = execution.alone or found.home == _GIVEN
        return found if certain and execution.number in self.open else None

    def adopt(self, thread: threading.Thread) -> None:
        """Note the owner of a thread that is about to start."""
        arguments = [
            *getattr(thread, "_args", ()),
            *getattr(thread, "_kwargs", {}).values(),
        ]
        here = self.owner()
        for each in arguments:
            call = self._call_of(each)
            if call is not None:
                execution = self.open.get(call.execution)
                self._threads[thread] = Owner(execution, call, _GIVEN, None)
                return
        if here is not None:
            self._threads[thread] = here._replace(home=None)

    def _call_of(self, value: Any) -> RecordedCall | None:
        try:
            return self.calls.get(value)
        except TypeError:
            # Not hashable, or without weak references.
            return None


def _here() -> tuple[int, Any]:
    """Return the thread, and the task if an event loop runs in it."""
    loop = asyncio._get_running_loop()
    task = None if loop is None else asyncio.current_task(loop)
    return threading.get_ident(), None if task is None else id(task)
