"""How many of Python's instructions something runs: the same number on every machine.

Time is another in every run; what the interpreter executes is not.
"""

from __future__ import annotations

import sys
import types
from collections import Counter
from collections.abc import Callable
from typing import Any


def instructions(act: Callable[[], object]) -> Counter[str]:
    """Return the number of instructions that each function executed below a call."""
    return _monitored(act) if sys.version_info >= (3, 12) else _traced(act)


def _monitored(act: Callable[[], object]) -> Counter[str]:
    counts: Counter[str] = Counter()

    def count(code: types.CodeType, offset: int) -> None:
        counts[code.co_qualname] += 1

    monitoring = sys.monitoring
    tool, event = monitoring.PROFILER_ID, monitoring.events.INSTRUCTION
    monitoring.use_tool_id(tool, __name__)
    monitoring.register_callback(tool, event, count)
    monitoring.set_events(tool, event)
    try:
        act()
    finally:
        monitoring.set_events(tool, monitoring.events.NO_EVENTS)
        monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
    del counts[_monitored.__qualname__]
    return counts


def _traced(act: Callable[[], object]) -> Counter[str]:
    counts: Counter[str] = Counter()

    def trace(frame: types.FrameType, event: str, arg: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            counts[frame.f_code.co_qualname] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return counts


def compiled_calls(act: Callable[[], object]) -> Counter[str]:
    """Return the number of calls of each compiled function."""
    counts: Counter[str] = Counter()

    def profile(frame: types.FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            counts[arg.__qualname__] += 1

    _profiled(act, profile)
    del counts["setprofile"]
    return counts


def functions(act: Callable[[], object]) -> Counter[str]:
    """Return the number of calls of each Python function."""
    counts: Counter[str] = Counter()

    def profile(frame: types.FrameType, event: str, arg: Any) -> None:
        if event == "call":
            counts[frame.f_code.co_qualname] += 1

    _profiled(act, profile)
    return counts


def _profiled(
    act: Callable[[], object], profile: Callable[[types.FrameType, str, Any], None]
) -> None:
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(before)
