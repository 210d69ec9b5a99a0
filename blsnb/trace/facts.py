"""Facts of a trace besides calls and tensors; durations as text."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from blsnb.runtimes.runtime import DeviceUse

ParameterPairs: TypeAlias = tuple[tuple[str, bool | int | float | str], ...]
"""Names and values of parameters."""
UNITS = (("µs", 1.0), ("ms", 1e3), ("s", 1e6))
"""Units of durations, with their microseconds."""
_DASH = "\N{EN DASH}"
_MAX_FACTS = 16
"""Maximum number of batching facts kept for one call: the first and the last ones."""


class Batching(NamedTuple):
    """Why a call was part of an execution, or why not.

    Parameters
    ----------
    execution
        Number of the execution; see `Span.execution`.
    joined
        Whether the call was part of it.
    cause
        Kind of the reason, as counts name it.
    words
        The reason with numbers and names; of a call that joined, why the batch
        started when it did.
    runs
        Runs of the batch, if there are several.
    times
        Number of successive executions with this reason, of which this is the last.
    """

    execution: int
    joined: bool
    cause: str
    words: str
    runs: tuple[str, ...] = ()
    times: int = 1

    def __str__(self) -> str:
        if self.joined:
            return self.words
        before = f" and {self.times - 1} before" if self.times > 1 else ""
        return f"not with execution {self.execution}{before}: {self.words}"


def added(known: list[Batching] | None, new: Batching) -> list[Batching]:
    """Append a batching fact of a call; count it if it repeats the last one."""
    if known is None:
        return [new]
    # Joined or not, its cause and words.
    if known[-1][1:4] == new[1:4]:
        known[-1] = new._replace(times=known[-1].times + 1)
        return known
    known.append(new)
    if len(known) > _MAX_FACTS:
        del known[_MAX_FACTS // 2]
    return known


class Copy(NamedTuple):
    """A copy of a tensor between the host and a device."""

    ns: int
    duration_ns: int
    tensor: str
    """The tensor's name."""
    byte_size: int
    source: str
    """``"cpu"`` or ``"gpu:0"``."""
    target: str
    hostile: bool = False
    """Whether hostile placement caused it."""


@dataclass(slots=True, eq=False, repr=False)
class DeviceWork:
    """Copies and device use of one call, filled in while it runs."""

    copies: list[Copy] = field(default_factory=list)
    use: DeviceUse | None = None
    """Device use of the execution; None if it ran on the host."""


class ClockReading(NamedTuple):
    """One moment on two clocks, in nanoseconds."""

    monotonic_ns: int
    unix_ns: int


class TraceContext(NamedTuple):
    """The OpenTelemetry context of a client request."""

    trace_id: str
    """32 hexadecimal digits."""
    parent_id: str = ""
    """The client's span: 16 hexadecimal digits; empty without one."""
    state: str = ""
    """The client's ``tracestate``."""


class Profile(NamedTuple):
    """A profile as stored in a run file."""

    kind: str
    """``"samples"`` or ``"lines"``."""
    call: int | None
    """Id of the profiled call; None for the whole run."""
    data: dict[str, Any]
    """JSON of its chunk; not checked."""
    body: bytes


class RecordingFacts(NamedTuple):
    """Process and settings of a recording, as JSON; not checked."""

    process: Any
    settings: Any


class UnreadChunk(NamedTuple):
    """An optional chunk of a run file, of an unknown type: it is saved again."""

    type: str
    flags: int
    json: bytes
    """As stored in the file."""
    body: bytes


class Drop(NamedTuple):
    """Calls or tensor values of a run that a limit has dropped."""

    what: Literal["calls", "values"]
    limit: str
    """Name of the setting, such as ``"keep_calls"``."""
    setting: int
    """Value of the setting at that time."""
    calls: int
    """Number of calls that were dropped, or that have lost values."""
    last: int = -1
    """Highest id of a dropped call; -1 for values."""


def time(us: float) -> str:
    """Return microseconds in the unit that keeps three digits; a dash for NaN."""
    if not math.isfinite(us):
        return _DASH
    size = abs(us)
    if 0 < size < 0.9995:
        return f"{round(us * 1000)} ns"
    unit, scale = next((u for u in UNITS if size < 999.5 * u[1]), UNITS[-1])
    return f"{_three_digits(us / scale)} {unit}"


def _three_digits(number: float) -> str:
    if number == int(number):
        return str(int(number))
    size = abs(number)
    return f"{number:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f}"
