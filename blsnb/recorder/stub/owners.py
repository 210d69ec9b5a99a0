"""Which execution a BLS call belongs to: known, or not named at all."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blsnb.recorder.stub.executions import RecordedCall, RecordedExecution

_GIVEN = "given"
"""Home of work that certainly belongs to an open execution."""


class Owner(NamedTuple):
    """What runs where a BLS call is made."""

    execution: RecordedExecution | None
    """None for one that is not recorded."""
    call: RecordedCall | None
    """The request, if it is known."""
    home: Any
    """Thread and task that certainly work for the execution while it runs, or
    `_GIVEN`."""
    request: Any
    """Weak reference to the only request, if its trace is passed on; else None."""


class Owners:
    """The owners of threads, tasks and objects of the model.

    Parameters
    ----------
    with_traces
        Whether owners know the request whose trace their BLS calls get.
    """

    def __init__(self, with_traces: bool) -> None:
        self._with_traces = with_traces
        self._current: contextvars.ContextVar[Owner | None] = contextvars.ContextVar(
            "blsnb_execution", default=None
        )
        self.left_out: dict[int, Sequence[Any]] = {}
        """Requests of each `execute` that runs and is not recorded, by thread; empty if
        no trace is passed on."""
        self.open: dict[int, RecordedExecution] = {}
        """Executions that are not complete, by number."""
        self.entered = self._current.get
        """Return the owner that was entered in this thread and task."""
        self.leave = self._current.reset
        """Restore the owner before `enter`, which returned the argument."""
        self.enter_again = self._current.set
        """Make an owner that of another task."""
        self.calls: dict[weakref.ref[Any], RecordedCall] = {}
        """Requests and response senders of the model, with their calls."""
        self._threads: dict[weakref.ref[threading.Thread], Owner] = {}

    def enter(self, execution: RecordedExecution, requests: Sequence[Any]) -> Any:
        """Make an execution the owner of this thread and task."""
        call = execution.calls[0] if len(requests) == 1 else None
        owner = Owner(execution, call, _here(), self._traced(requests))
        return self._current.set(owner)

    def unrecorded(self, requests: Sequence[Any]) -> Owner:
        """Return the owner of requests that are not recorded."""
        return Owner(None, None, None, self._traced(requests))

    def _traced(self, requests: Sequence[Any]) -> Any:
        """Return a reference to the request if its trace is passed on, else None."""
        if not self._with_traces or self.trace_of(requests) is None:
            return None
        return weakref.ref(requests[0])

    def trace_of(self, requests: Sequence[Any]) -> Any:
        """Return the trace of the only request if OpenTelemetry follows it."""
        if len(requests) != 1:
            return None
        trace = requests[0].trace()
        context = getattr(trace, "get_context", None)
        # Releases without this method do not tell.
        return trace if context is None or context() is not None else None

    def enter_as(self, owner: Owner) -> Any:
        """Make the owner of submitted work that of this thread."""
        return self._current.set(_at(owner, _GIVEN))

    def owner(self) -> Owner | None:
        """Return the owner of the code that runs; None if it is not known."""
        found = self._current.get()
        if found is None:
            found = self._owner_of_thread(threading.get_ident())
        if found is None or found.execution is None:
            return found
        execution = found.execution
        if found.home == _here() and execution.running:
            return found
        certain = execution.alone or found.home == _GIVEN
        return found if certain and execution.number in self.open else None

    def _owner_of_thread(self, ident: int) -> Owner | None:
        requests = self.left_out.get(ident)
        if requests is not None:
            return self.unrecorded(requests)
        # The public functions would make an object for a foreign thread.
        active: dict[int, Any] = getattr(threading, "_active", {})
        thread = active.get(ident)
        return None if thread is None else self._threads.get(weakref.ref(thread))

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
                request = None
                if here is not None and here.call is call:
                    request = here.request
                note(self._threads, thread, Owner(execution, call, _GIVEN, request))
                return
        if here is not None:
            note(self._threads, thread, _at(here, None))

    def _call_of(self, value: Any) -> RecordedCall | None:
        try:
            return self.calls.get(weakref.ref(value))
        except TypeError:
            # Not hashable, or without weak references.
            return None


def note(values: dict[weakref.ref[Any], Any], key: Any, value: Any) -> None:
    """Note a value for an object, as long as the object lives.

    `weakref.WeakKeyDictionary` executes Python code for each object that is released.
    """
    values[weakref.ref(key, values.pop)] = value


def _at(owner: Owner, home: Any) -> Owner:
    """Return the owner with another home, which only one that is recorded needs."""
    return owner if owner.execution is None else owner._replace(home=home)


def _here() -> tuple[int, Any]:
    """Return the thread, and the task if an event loop runs in it."""
    loop = asyncio._get_running_loop()
    task = None if loop is None else asyncio.current_task(loop)
    return threading.get_ident(), None if task is None else id(task)
