"""Fields of a call that are not slots of their own: its times, and rare facts.

A call with an integer object for each time and a slot for each fact takes almost twice
the memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar, cast

import numpy as np

T = TypeVar("T")
Numbers: TypeAlias = "list[int] | bytes"
"""A list while they may change, then bytes."""
NAMES = (
    "request_start_ns",
    "queue_start_ns",
    "compute_start_ns",
    "compute_input_end_ns",
    "compute_output_start_ns",
    "compute_end_ns",
    "request_end_ns",
    "execution",
)
"""The fields of `Call.numbers`, by position."""
TIMES = NAMES[:-1]
"""The times of Triton's activities, in their order."""
(
    REQUEST_START,
    QUEUE_START,
    COMPUTE_START,
    COMPUTE_INPUT_END,
    COMPUTE_OUTPUT_START,
    COMPUTE_END,
    REQUEST_END,
    EXECUTION,
) = range(len(NAMES))
_FORMAT = struct.Struct(f"{len(NAMES)}q")
pack = _FORMAT.pack
"""Returns numbers as bytes."""


class CallNumber:
    """A field in `Call.numbers`."""

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._position = NAMES.index(name)

    def __get__(self, call: Any, owner: type[object]) -> int:
        return _listed(call.numbers)[self._position]

    def __set__(self, call: Any, value: int) -> None:
        call.numbers = _listed(call.numbers)
        call.numbers[self._position] = value


class Extra(Generic[T]):
    """A field of `Call.extras`.

    Parameters
    ----------
    default
        Its value for a call without extras.
    """

    def __init__(self, default: T) -> None:
        self._default = default

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name

    def __get__(self, call: Any, owner: type[object]) -> T:
        if call.extras is None:
            return self._default
        value: T = getattr(call.extras, self._name)
        return value

    def __set__(self, call: Any, value: T) -> None:
        setattr(call.make_extras(), self._name, value)


def arrays_of(numbers: Iterable[Numbers]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the fields of many `Call.numbers`, one array per field."""
    rows = list(numbers)
    try:
        table = np.frombuffer(_joined(rows), np.int64)
    except struct.error:
        # Imported traces may have larger numbers.
        table = np.array(list(map(_listed, rows)), object)
    return dict(zip(NAMES, table.reshape(-1, len(NAMES)).T, strict=True))


def _joined(rows: Sequence[Numbers]) -> bytes:
    try:
        return b"".join(cast("Sequence[bytes]", rows))
    except TypeError:
        # Some may still change.
        return b"".join([r if type(r) is bytes else pack(*r) for r in rows])


def _listed(numbers: Numbers) -> list[int]:
    return [*_FORMAT.unpack(numbers)] if isinstance(numbers, bytes) else numbers
