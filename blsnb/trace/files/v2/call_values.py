"""Values of a recorded call as JSON: log lines, copies, parameters and the like."""

from __future__ import annotations

import math
from typing import Any

from blsnb.runtimes.runtime import DeviceUse
from blsnb.trace.events import LogLine
from blsnb.trace.facts import Batching, Copy
from blsnb.trace.files import checked
from blsnb.trace.files.checked import NS, Malformed
from blsnb.trace.files.v2.chunks import json_float

U2, U4 = (1 << 16) - 1, (1 << 32) - 1
Parameter = bool | int | float | str
_LATENCY_CLASSES = 8 * 63
"""Eight for each doubling, up to the 63rd."""


def ns(value: Any) -> int:
    """Return a time or a duration."""
    return checked.integer(value, 0, NS)


def log_line(value: Any) -> LogLine:
    """Return a line that a model logged."""
    time_ns, level, text = checked.row(value, 3)
    return LogLine(ns(time_ns), checked.text(level), checked.text(text))


def batching(value: Any) -> Batching:
    """Return why a call was part of a batch, or was not."""
    execution, joined, cause, words, runs, times = checked.row(value, 6)
    return Batching(
        checked.integer(execution, 0, U4),
        checked.flag(joined),
        checked.text(cause),
        checked.text(words),
        checked.listed(runs, checked.text),
        checked.integer(times, 0, U4),
    )


def copy(value: Any) -> Copy:
    """Return a copy between the host and a device."""
    at, duration_ns, tensor, byte_size, source, target, hostile = checked.row(value, 7)
    return Copy(
        ns(at),
        ns(duration_ns),
        checked.text(tensor),
        ns(byte_size),
        checked.text(source),
        checked.text(target),
        checked.flag(hostile),
    )


def device_use(value: Any) -> DeviceUse | None:
    """Return the device use of an execution; None if it ran on the host."""
    if value is None:
        return None
    device, *counts = checked.row(value, 4)
    return DeviceUse(checked.text(device), *map(ns, counts))


def latency(value: Any) -> tuple[int, int]:
    """Return a latency class and its number of calls."""
    number, calls = checked.row(value, 2)
    return checked.integer(number, 0, _LATENCY_CLASSES), ns(calls)


def correlation_id(value: Any) -> int | str:
    """Return the correlation id of a request."""
    return value if isinstance(value, str) else checked.integer(value, 0, NS * 4)


def write_parameters(pairs: Any) -> list[list[Any]]:
    """Return names and values of parameters as JSON has them."""
    return [
        [name, json_float(value) if isinstance(value, float) else value]
        for name, value in pairs
    ]


def parameter(value: Any) -> tuple[str, Parameter]:
    """Return the name and the value of a parameter."""
    name, given = checked.row(value, 2)
    return checked.text(name), read_parameter(given)


def read_parameter(value: Any) -> Parameter:
    """Return the value of a parameter: a string, a number, true or false."""
    if isinstance(value, list):
        (digits,) = checked.row(value, 1)
        number = float.fromhex(checked.text(digits))
        return math.nan if math.isnan(number) else number
    if isinstance(value, bool | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Malformed("a float of finite size, not one that is too large")
        return value
    return checked.integer(value, -NS * 4, NS * 4)
