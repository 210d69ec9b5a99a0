"""A thread that samples the stacks of a run's models."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Self

from blsnb.engine.instance.instance_modules import modules_with
from blsnb.engine.request.inflight import Execution
from blsnb.trace.events import Call
from blsnb.trace.facts import Profile
from blsnb.trace.profiles.samples import Sampled, SampleProfile, StackFrame
from blsnb.trace.run_record import RunRecord

_RECENT_CALLS = 1000
"""Maximum number of calls that are searched for the one of a model's own thread."""


class SampledCalls:
    """Finds the calls of one run to which samples belong.

    Parameters
    ----------
    record
        The run.
    """

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self.models: dict[int, str] = {}
        """Names of the models of the calls found, by call id."""
        self._by_thread: dict[int, Call] = {}
        """The latest call of each thread."""

    def call_of(self, module: str, thread_id: int) -> int | None:
        """Return the id of the call; None if the thread works for another run.

        Parameters
        ----------
        module
            Name of the module of the model's code that runs.
        thread_id
            Identifier of its thread.
        """
        modules = modules_with(module)
        if modules is None:
            # The model was unloaded in the meantime.
            return None
        execution = modules.execution_on(thread_id)
        if execution is None:
            call = self._background(modules.instance_name, thread_id)
        else:
            call = self._of(execution)
        if call is None:
            return None
        self._by_thread[thread_id] = call
        self.models.setdefault(call.id, call.model.name)
        return call.id

    def _of(self, execution: Execution) -> Call | None:
        """Return the run's call that an execution serves."""
        for inflight in execution.inflights:
            if inflight.root.record is self._record:
                return inflight.call
        return None

    def _background(self, instance: str, thread_id: int) -> Call | None:
        """Return the call of a thread that the model started.

        It is the call during which the thread was found first, as long as that is
        open, else the latest open call of the instance.
        """
        before = self._by_thread.get(thread_id)
        if before is not None and before.instance == instance and not before.ended:
            return before
        calls = itertools.islice(reversed(self._record.calls), _RECENT_CALLS)
        mine = (each for each in calls if each.instance == instance)
        return next((each for each in mine if not each.ended), None)


_INTERVAL_S = 0.001
"""Time between two samples, in seconds."""
_SWITCH_S = 0.0002
"""Switch interval while sampling: with Python's own, a busy model would release the
interpreter to the sampler every 5 ms only."""
_MAX_DEPTH = 200
"""Maximum number of frames kept of a stack; the innermost ones are left out."""
_ENGINE = "blsnb.engine."
_lock = threading.Lock()
_running = 0
"""Number of samplers that run."""
_switch_s = 0.0
"""Switch interval before the first of them started."""

_Place = tuple[CodeType, int]


class Sampler:
    """Samples the model code of one run on a thread of its own, until the run ends.

    As a context manager it also ends with the block.

    Parameters
    ----------
    record
        The run; it has the profile from the start.
    """

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self._counts: dict[tuple[int, tuple[_Place, ...]], int] = {}
        self._calls = SampledCalls(record)
        self._names: dict[CodeType, str] = {}
        """Results of `_name_of`."""
        self._ticks = 0
        self._began_s = self._ended_s = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="blsnb profiler", daemon=True
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def start(self) -> None:
        """Start to sample."""
        self._began_s = time.monotonic()
        self._record.profiler = self.stored
        _begin()
        try:
            self._thread.start()
        except BaseException:
            self._record.profiler = None
            _end()
            raise

    def stored(self) -> Profile:
        """Return the samples so far."""
        frames: dict[_Place, StackFrame] = {}
        # Copied at once: the sampling thread adds stacks.
        samples = [
            Sampled(
                call,
                self._calls.models[call],
                tuple([self._frame(place, frames) for place in stack]),
                count,
            )
            for (call, stack), count in self._counts.copy().items()
        ]
        ended_s = self._ended_s or time.monotonic()
        ticks = self._ticks
        interval_s = (ended_s - self._began_s) / ticks if ticks else _INTERVAL_S
        return SampleProfile(
            samples, round(interval_s * 1e9), round(_INTERVAL_S * 1e9)
        ).stored()

    def _run(self) -> None:
        due = self._began_s
        try:
            while not self._ended.wait(max(0.0, due - time.monotonic())):
                if self._record.ended:
                    break
                self._sample()
                self._ticks += 1
                # Late samples are not made up for: they would all be of one moment.
                due = max(due + _INTERVAL_S, time.monotonic())
        finally:
            self._ended_s = time.monotonic()
            self._record.profiles = (self.stored(),)
            self._record.profiler = None
            self._record.changed()
            _end()

    def _sample(self) -> None:
        own = threading.get_ident()
        for thread_id, innermost in sys._current_frames().items():
            if thread_id == own:
                continue
            module, stack = self._model_code(innermost)
            call = self._calls.call_of(module, thread_id) if module else None
            if call is not None:
                key = call, stack
                self._counts[key] = self._counts.get(key, 0) + 1

    def _model_code(self, innermost: FrameType) -> tuple[str, tuple[_Place, ...]]:
        """Return module and stack of the innermost model code of a thread.

        The module is empty if no model's code runs, also while it waits.
        """
        stack: list[_Place] = []
        module = ""
        frame: FrameType | None = innermost
        # Python 3.11 was seen to link a frame that had just ended to another object.
        while isinstance(frame, FrameType):
            code = frame.f_code
            name = self._names.get(code)
            if name is None:
                name = self._names[code] = self._name_of(frame)
            if name == _ENGINE:
                # Above the model's code it waits; below is the caller of the model.
                break
            stack.append((code, frame.f_lineno))
            module = module or name
            frame = frame.f_back
        while module and not self._names[stack[-1][0]]:
            # Frames below the model's, such as those of threads and event loops.
            stack.pop()
        return module, tuple(stack[: -_MAX_DEPTH - 1 : -1])

    def _name_of(self, frame: FrameType) -> str:
        """Return a model's module, `_ENGINE`, or an empty text for other code."""
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith(_ENGINE):
            return _ENGINE
        return "" if modules_with(name) is None else name

    def _frame(self, place: _Place, known: dict[_Place, StackFrame]) -> StackFrame:
        if place not in known:
            code, line = place
            file = os.path.basename(code.co_filename)
            is_own = bool(self._names.get(code))
            known[place] = StackFrame(code.co_qualname, file, line, is_own)
        return known[place]


def _begin() -> None:
    """Let threads switch more often, as long as any sampler runs."""
    global _running, _switch_s
    with _lock:
        if not _running:
            _switch_s = sys.getswitchinterval()
            sys.setswitchinterval(min(_switch_s, _SWITCH_S))
        _running += 1


def _end() -> None:
    global _running
    with _lock:
        _running -= 1
        if not _running:
            sys.setswitchinterval(_switch_s)
