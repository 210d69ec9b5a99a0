"""Sampler: a thread that samples the stacks of a run's models."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from types import CodeType, FrameType
from typing import NamedTuple, Self

from blsnb.engine.instance.instance_modules import execution_in, is_model_module
from blsnb.engine.request.inflight import Execution
from blsnb.trace.profiles.samples import Sampled, SampleProfile, StackFrame
from blsnb.trace.run_record import RunRecord

INTERVAL_S = 0.001
"""Time between two samples, in seconds."""
_SWITCH_S = 0.0005
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


class _Found(NamedTuple):
    """Model code on a thread."""

    execution: Execution
    stack: tuple[_Place, ...]


class Sampler:
    """Samples the model code of one run, as a context manager.

    Parameters
    ----------
    record
        The run.
    interval_s
        Time between two samples, in seconds.
    """

    def __init__(self, record: RunRecord, interval_s: float = INTERVAL_S) -> None:
        self._record = record
        self._interval_s = interval_s
        self._counts: Counter[tuple[int, tuple[_Place, ...]]] = Counter()
        self._names: dict[CodeType, str] = {}
        """Results of `_name_of`."""
        self._ticks = 0
        self._sampled_s = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="blsnb profiler", daemon=True
        )

    def __enter__(self) -> Self:
        _begin()
        try:
            self._thread.start()
        except BaseException:
            _end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        _end()

    def profile(self) -> SampleProfile:
        """Return the samples; call it after the end."""
        frames: dict[_Place, StackFrame] = {}
        samples = [
            Sampled(call, tuple([_frame(place, frames) for place in stack]), count)
            for (call, stack), count in self._counts.items()
        ]
        interval_s = self._sampled_s / self._ticks if self._ticks else self._interval_s
        return SampleProfile(
            samples, round(interval_s * 1e9), round(self._interval_s * 1e9)
        )

    def _run(self) -> None:
        began = due = time.monotonic()
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            self._sample()
            self._ticks += 1
            # Late samples are not made up for: they would all be of one moment.
            due = max(due + self._interval_s, time.monotonic())
        self._sampled_s = time.monotonic() - began

    def _sample(self) -> None:
        own = threading.get_ident()
        for thread_id, frame in sys._current_frames().items():
            if thread_id != own and (found := self._model_code(frame)) is not None:
                call = _call_of(found.execution, self._record)
                if call is not None:
                    self._counts[call, found.stack] += 1

    def _model_code(self, innermost: FrameType) -> _Found | None:
        """Return the innermost model code of a thread; None while it waits."""
        stack: list[_Place] = []
        module = ""
        frame: FrameType | None = innermost
        while frame is not None:
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
        execution = execution_in(module) if module else None
        if execution is None:
            return None
        return _Found(execution, tuple(stack[: -_MAX_DEPTH - 1 : -1]))

    def _name_of(self, frame: FrameType) -> str:
        """Return a model's module, `_ENGINE`, or an empty text for other code."""
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith(_ENGINE):
            return _ENGINE
        return name if is_model_module(name) else ""


def _call_of(execution: Execution, record: RunRecord) -> int | None:
    """Return the id of a run's call that an execution serves."""
    for inflight in execution.inflights:
        if inflight.root.record is record:
            return inflight.call.id
    return None


def _frame(place: _Place, known: dict[_Place, StackFrame]) -> StackFrame:
    if place not in known:
        code, line = place
        file = os.path.basename(code.co_filename)
        known[place] = StackFrame(code.co_qualname, file, line)
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
