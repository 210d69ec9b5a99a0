"""Steps from a model into the models that it calls, and back, between threads.

On one thread the debugger steps by itself. Here is what it cannot do: the child of
``async_exec`` runs on another thread, and returns to a parent that waits.
"""

from __future__ import annotations

import dis
import inspect
import threading
import types
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary, ref

from blsnb.debugger import one_shot
from blsnb.debugger.process_debugger import Place, ProcessDebugger, Stop, attached
from blsnb.engine.bls import InstanceBackend
from blsnb.engine.instance import instance_modules
from blsnb.engine.request.inflight import Execution
from blsnb.trace.events import Call

_INTO = ("stepIn",)
_BACK = ("stepOut", "next", "stepIn")
_CALLS = frozenset({"exec", "async_exec"})


class DebuggerSteps:
    """Continues a step on the thread where the next model runs."""

    def __init__(self) -> None:
        self._command = ""
        self._frame: types.FrameType | None = None
        """Frame in which a thread is stopped."""
        self._stepped: types.FrameType | None = None
        """Frame of the parent whose step ends in a child."""
        self._statement = range(0)
        """Lines of the statement at which this step began."""
        # Executions and frames have the tensors of their requests.
        self._parents: WeakKeyDictionary[Execution, types.FrameType]
        self._parents = WeakKeyDictionary()
        """Frames of parents from which a step began, by the child's execution."""
        self._began: dict[int, ref[Execution]] = {}
        """Execution in which each thread's step began, by the thread's number."""

    def request(self, command: str) -> str:
        """Note a request of the client that lets a thread continue.

        Returns
        -------
        str
            The request that the debugger must handle instead. At a line that calls
            another model, a step in is a step over that ends in the child.
        """
        self._command = command
        frame = self._frame
        if frame is not None:
            one_shot.disarm()
        if command in _INTO and frame is not None and calls_models(frame):
            return "next"
        return command

    def stopped(self, stop: Stop) -> None:
        """Note the thread that has stopped, and end the step that led there.

        A thread that stops with another one may do so late, when the step of the other
        has begun; it leaves this step alone.
        """
        if stop.is_own:
            one_shot.disarm()
            self._command, self._frame, self._stepped = "", stop.frame, None
        elif self._frame is None:
            self._frame = stop.frame

    def passes(self, frame: types.FrameType) -> bool:
        """Whether a stop is in the statement that is stepped, or its comprehension.

        From Python 3.12 a comprehension is part of its function: each of its rounds
        begins the line again.
        """
        stepped = self._stepped
        if stepped is None:
            return False
        if frame is stepped:
            return frame.f_lineno in self._statement
        return frame.f_back is stepped and frame.f_code.co_name.startswith("<")

    def has_ended(self, stop: Stop) -> bool:
        """Whether a stop ends a step that left its request by the end.

        The step of a coroutine would go on in the next request of the thread.
        """
        began = self._began.get(threading.get_ident())
        execution = execution_of(stop.frame)
        if began is None or execution is None or not stop.is_step:
            return False
        parent = began()
        is_left = parent is None or not _is_child(execution, parent)
        return is_left and execution is not parent

    def resumed(self, frame: types.FrameType) -> None:
        """Continue the requested step of a thread that was stopped in a frame."""
        if frame is not self._frame:
            return
        debugger, execution = attached(), execution_of(frame)
        command, self._command, self._frame = self._command, "", None
        self._note_step(command, execution)
        if debugger is None or execution is None:
            return
        is_return = command == "stepOut" or frame.f_lineno == last_line(frame.f_code)
        goes_in = command in _INTO and calls_models(frame)
        goes_back = command in _BACK and is_return and not goes_in
        if goes_back and self._step_out(debugger, execution):
            return
        if command in _INTO:
            self._step_in(debugger, frame, execution)

    def _note_step(self, command: str, execution: Execution | None) -> None:
        thread = threading.get_ident()
        if command in _BACK and execution is not None:
            self._began[thread] = ref(execution)
        else:
            self._began.pop(thread, None)

    def _step_out(self, debugger: ProcessDebugger, execution: Execution) -> bool:
        """Stop where the parent continues; return whether it has one."""
        parent = self._parents.get(execution)
        if parent is not None:
            places = _lines_of(parent.f_code)
            one_shot.arm(debugger, places, lambda at: at is parent)
            return True
        call = _calling(execution.inflight.call)
        if call is not None:
            # Entered by a breakpoint: only the parent's call is known, not its frame.
            hooks = _hooks_of(call.instance)
            debugger.watch_lines(hooks)
            places = [place for code in hooks for place in _lines_of(code)]
            one_shot.arm(debugger, places, lambda at: _executes(at, call))
        return call is not None

    def _step_in(
        self, debugger: ProcessDebugger, parent: types.FrameType, execution: Execution
    ) -> None:
        self._stepped, self._statement = parent, statement_at(parent)

        def is_child(frame: types.FrameType) -> bool:
            found = execution_of(frame)
            if found is None or not _is_child(found, execution):
                return False
            self._parents[found] = parent
            return True

        one_shot.arm(debugger, first_lines(), is_child)


def _calling(call: Call) -> Call | None:
    """Return the nearest call above one that runs in a Python model."""
    parent = call.parent
    while parent is not None and not any(_hooks_of(parent.instance)):
        parent = parent.parent
    return parent


def _executes(frame: types.FrameType, call: Call) -> bool:
    execution = execution_of(frame)
    return execution is not None and any(
        each.call is call for each in execution.inflights
    )


def _is_child(execution: Execution, parent: Execution) -> bool:
    """Whether a call of an execution descends from one of another execution."""
    calls = {inflight.call for inflight in parent.inflights}
    return any(_descends(each.call, calls) for each in execution.inflights)


def _descends(call: Call, ancestors: set[Call]) -> bool:
    parent = call.parent
    while parent is not None:
        if parent in ancestors:
            return True
        parent = parent.parent
    return False


def execution_of(frame: types.FrameType) -> Execution | None:
    """Return the execution whose model code a frame runs; None for other frames."""
    backend = instance_modules.backend_of(frame)
    return backend.current_execution() if isinstance(backend, InstanceBackend) else None


def calls_models(frame: types.FrameType) -> bool:
    """Whether the statement at which a model stops calls `exec` or `async_exec`."""
    if instance_modules.backend_of(frame) is None:
        return False
    lines = statement_at(frame)
    return any(
        each.positions is not None
        and each.positions.lineno in lines
        and _names_call(each.argval)
        for each in dis.get_instructions(frame.f_code)
    )


def statement_at(frame: types.FrameType) -> range:
    """Return the lines of the statement at which a frame is."""
    code, line = frame.f_code, frame.f_lineno
    positions = [each for each in code.co_positions() if each[0] == line]
    end = max((last or line for _, last, _, _ in positions), default=line)
    return range(line, end + 1)


def _names_call(value: object) -> bool:
    """Whether an instruction's value is a call's name, or a comprehension with one."""
    if isinstance(value, types.CodeType):
        return value.co_name.startswith("<") and not _CALLS.isdisjoint(value.co_names)
    return isinstance(value, str) and value in _CALLS


def first_lines() -> list[Place]:
    """Return the first line of each loaded ``execute``."""
    return [(code.co_filename, first_line(code)) for code in _hooks_of()]


def _hooks_of(instance_name: str = "") -> list[types.CodeType]:
    """Return the code of ``execute`` of the instances with a name, or of all."""
    found = map(_execute_of, instance_modules.model_modules(instance_name))
    return [code for code in found if code is not None]


def _execute_of(module: types.ModuleType) -> types.CodeType | None:
    hook: Any = getattr(getattr(module, "TritonPythonModel", None), "execute", None)
    code = getattr(inspect.unwrap(hook), "__code__", None) if hook else None
    return code if isinstance(code, types.CodeType) else None


def first_line(code: types.CodeType) -> int:
    """Return the first line of a function below its ``def``, or that of a one-liner."""
    below = (line for line in _executed(code) if line > code.co_firstlineno)
    return next(below, code.co_firstlineno)


def last_line(code: types.CodeType) -> int:
    """Return the last line of a function."""
    return max(_executed(code), default=code.co_firstlineno)


def _executed(code: types.CodeType) -> Iterator[int]:
    return (line for _, _, line in code.co_lines() if line)


def _lines_of(code: types.CodeType) -> list[Place]:
    return [(code.co_filename, line) for line in set(_executed(code))]
