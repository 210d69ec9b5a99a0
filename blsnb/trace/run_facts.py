"""Facts of a recorded run beside its calls: its clock, its pauses, its profiles."""

from __future__ import annotations

from typing import Any, NamedTuple


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
