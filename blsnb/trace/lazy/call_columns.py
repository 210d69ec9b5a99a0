"""Read the fields of recorded calls, column by column."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import compress
from operator import attrgetter
from typing import Any

from blsnb.trace.events import Call, CallExtras, CallFlag, ModelInfo
from blsnb.trace.lazy.call_fields import NAMES, Numbers, arrays_of
from blsnb.trace.lazy.lazy_rows import LazyRows
from blsnb.trace.spans import Span

_BLOCK = 4096
"""Number of calls whose fields are read together, while they are in the caches."""
_READ = (
    "id",
    "parent",
    "model",
    "instance",
    "request_fields",
    "requested_outputs",
    "flags",
    "asked_cancelled",
    "line",
    "batch",
    "batching",
    "inputs",
    "outputs",
    "responses",
    "extras",
)
_NUMBERS = attrgetter("numbers")
_RARE = {field.name: field.default for field in dataclasses.fields(CallExtras)}

Columns = dict[str, Any]
"""Fields of calls: a list of each, and an array of each of `NAMES`."""


def read_calls(calls: Sequence[Call]) -> Columns:
    """Return the fields of calls."""
    columns: dict[str, list[Any]] = {name: [] for name in _READ}
    reading = [(columns[name].extend, attrgetter(name)) for name in _READ]
    numbers: list[Numbers] = []
    for start in range(0, len(calls), _BLOCK):
        block = calls[start : start + _BLOCK]
        # The end first: the other fields of a call that has ended are final.
        numbers += [n if type(n) is bytes else [*n] for n in map(_NUMBERS, block)]
        for extend, field in reading:
            extend(map(field, block))
    return {**columns, **arrays_of(numbers), **_rare(columns.pop("extras"))}


def read_started(calls: Sequence[Call]) -> tuple[Sequence[Call], Columns]:
    """Return the calls that have started, and their fields."""
    read = read_calls(calls)
    started = read["request_start_ns"]
    if started.all():
        return calls, read
    return read_started(list(compress(calls, started)))


def _rare(extras: Sequence[CallExtras | None]) -> dict[str, list[Any]]:
    """Return the fields of extras; of calls without extras their defaults."""
    return {
        name: list(_each(extras, default, attrgetter(name)))
        for name, default in _RARE.items()
    }


def distinct(models: Sequence[ModelInfo]) -> tuple[ModelInfo, ...]:
    """Return the models of calls, each once."""
    return tuple(dict.fromkeys(_by_id(models).values()))


def _by_id(models: Sequence[ModelInfo]) -> dict[int, ModelInfo]:
    """Return the objects; to hash a model takes as long as ten look-ups by id."""
    return dict(zip(map(id, models), models, strict=True))


def spans_of(
    calls: Sequence[Call], read: Columns, models: Sequence[ModelInfo], notes: bool
) -> LazyRows[Span]:
    """Return the spans of calls.

    Parameters
    ----------
    read
        The fields of the calls.
    models
        The distinct models.
    notes
        Whether spans include their notes; those about incomplete records always are.
    """
    rows: dict[Call | None, int] = dict(zip(calls, range(len(calls)), strict=True))
    found = dict(read)
    found["index"] = range(len(calls))
    # Without a caller, or with one of another run.
    found["parent"] = [rows.get(caller, -1) for caller in read["parent"]]
    found["model"] = _numbers(read["model"], models)
    found["flags"] = _flags(read)
    found["batching"] = _each(read["batching"], (), tuple)
    found["logs"] = _each(read["logs"], (), tuple)
    found["responses"] = _each(read["responses"], (), tuple)
    found["response_count"] = _each(read["responses"], 0, attrgetter("count"))
    found["notes"] = _notes(read, notes)
    found["copies"] = _each(read["device"], (), lambda work: tuple(work.copies))
    found["device_use"] = _each(read["device"], None, attrgetter("use"))
    found["origin"] = [None] * len(calls)
    later = {name: found[name].tolist for name in NAMES}
    return LazyRows(Span, {name: found[name] for name in Span.__slots__}, later)


def _notes(read: Columns, notes: bool) -> Sequence[Any]:
    gaps = _each(read["responses"], "", lambda log: log.gap())
    own = _each(read["notes"], (), tuple) if notes else [()] * len(gaps)
    if not any(gaps):
        return own
    return [(*said, gap) if gap else said for said, gap in zip(own, gaps, strict=True)]


def _numbers(models: Sequence[ModelInfo], distinct: Sequence[ModelInfo]) -> list[int]:
    by_value = {model: number for number, model in enumerate(distinct)}
    number = {each: by_value[model] for each, model in _by_id(models).items()}
    return list(map(number.__getitem__, map(id, models)))


def _each(
    values: Sequence[Any], default: Any, make: Callable[[Any], Any]
) -> Sequence[Any]:
    """Return what is made of each value, and a default for each None."""
    if values.count(None) == len(values):
        return [default] * len(values)
    return [default if value is None else make(value) for value in values]


def _flags(read: Columns) -> list[CallFlag]:
    bits = read["flags"]
    if read["request_end_ns"].all() and True not in read["asked_cancelled"]:
        return _made(bits)
    return _made(
        [
            flags
            | (0 if end_ns else CallFlag.RUNNING.value)
            | (CallFlag.ASKED_CANCELLED.value if cancelled else 0)
            for flags, end_ns, cancelled in zip(
                read["flags"],
                read["request_end_ns"],
                read["asked_cancelled"],
                strict=True,
            )
        ]
    )


def _made(bits: Sequence[int]) -> list[CallFlag]:
    # To make a flag takes a microsecond.
    made = {each: CallFlag(each) for each in set(bits)}
    return list(map(made.__getitem__, bits))
