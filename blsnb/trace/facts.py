"""Facts that a trace carries beside calls and tensors: of a call, and of its run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, TypeAlias

from blsnb.runtimes.runtime import DeviceUse

ParameterPairs: TypeAlias = tuple[tuple[str, bool | int | float | str], ...]
"""Names and values of parameters."""
_MOST = 16
"""Maximum number of batching facts kept for one call: the first and the last ones."""


class Batching(NamedTuple):
    """Why a call was part of an ``execute``, or why it was not.

    Parameters
    ----------
    execution
        Number of that ``execute``; calls that it ran have it as `Span.execution`.
    joined
        Whether the call was part of it.
    cause
        The kind of the reason, by which it is counted.
    words
        The reason with its numbers and names: of a call that joined, why the batch
        left when it did.
    runs
        The runs whose requests joined, where they are several.
    times
        For how many executions one after the other that was so; this is the last.
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

    def is_like(self, other: Batching) -> bool:
        """Whether the same happened for the same reason."""
        return self[1:4] == other[1:4]


def added(known: list[Batching] | None, new: Batching) -> list[Batching]:
    """Add to what is known of a call; what happens again and again is counted."""
    if known is None:
        return [new]
    if known[-1].is_like(new):
        known[-1] = new._replace(times=known[-1].times + 1)
        return known
    known.append(new)
    if len(known) > _MOST:
        del known[_MOST // 2]
    return known


class Copy(NamedTuple):
    """A tensor that was copied between the host and a device, at the time it was."""

    ns: int
    duration_ns: int
    tensor: str
    """The tensor's name."""
    byte_size: int
    source: str
    """``"cpu"`` or ``"gpu:0"``."""
    target: str
    hostile: bool = False
    """Whether nothing asked for it but hostile placement."""


class DeviceWork:
    """Filled in as it happens; read-only afterwards."""

    __slots__ = ("copies", "use")

    def __init__(self) -> None:
        self.copies: list[Copy] = []
        self.use: DeviceUse | None = None
        """Of the ``execute``; None if it ran on the host."""


def copied_bytes(copies: Iterable[Copy]) -> int:
    """Return how many bytes were copied."""
    return sum(copy.byte_size for copy in copies)


def copied_ns(copies: Iterable[Copy]) -> int:
    """Return how long that took."""
    return sum(copy.duration_ns for copy in copies)


class ClockReading(NamedTuple):
    """One moment on two clocks, in nanoseconds."""

    monotonic_ns: int
    unix_ns: int


class Pause(NamedTuple):
    """A time in which a debugger held the process."""

    start_ns: int
    duration_ns: int


class Profile(NamedTuple):
    """A profile as it stands in a run file."""

    kind: str
    """``"samples"`` or ``"lines"``."""
    call: int | None
    """Id of the call that it is about; None for the whole run."""
    data: dict[str, Any]
    """What its chunk says in JSON; not checked."""
    body: bytes


class Recording(NamedTuple):
    """What the head of a recording says of it, as JSON; not checked."""

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
    """Calls of a run, or their values, that a limit has dropped."""

    what: Literal["calls", "values"]
    limit: str
    """Name of the setting, such as ``"keep_calls"``."""
    setting: int
    """Its value when it dropped them."""
    calls: int
    """Number of calls that are dropped, or that have lost values."""
    last: int = -1
    """Highest id of a dropped call; -1 for values."""
