"""Rows of models, counted calls, gaps and drops of a run file, version 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blsnb.trace.events import ModelInfo, Origin
from blsnb.trace.facts import Drop
from blsnb.trace.files import checked
from blsnb.trace.files.checked import NS, Malformed
from blsnb.trace.files.v2 import call_values
from blsnb.trace.files.v2.call_columns import MAX_ID
from blsnb.trace.files.v2.columns import (
    TIME,
    Column,
    Values,
    integers,
    lists,
    rows_of,
    texts,
    written,
)
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.gaps import Gap
from blsnb.trace.spans import Trace

MAX_MODELS = 60_000
_DEFAULTS: dict[str, Any] = {
    "version": -1,
    "backend": "",
    "device": "cpu",
    "kind": "model",
    "source": "",
    "origin": None,
    "unbatched": 0,
}


def model_row(model: ModelInfo) -> dict[str, Any]:
    """Return a model in the form of a file: without default values."""
    facts = model._asdict()
    facts["origin"] = model.origin and list(model.origin)
    usual = {name for name, value in _DEFAULTS.items() if facts[name] == value}
    return {name: value for name, value in facts.items() if name not in usual}


def read_model(value: Any) -> ModelInfo:
    """Return a model."""
    given = _DEFAULTS | checked.table(value)
    return ModelInfo(
        checked.text(checked.part(given, "name")),
        checked.integer(given["version"], -1, NS),
        checked.text(given["backend"]),
        checked.text(given["device"]),
        checked.text(given["kind"]),
        checked.text(given["source"]),
        read_origin(given["origin"]),
        checked.integer(given["unbatched"], 0, NS),
    )


def read_origin(value: Any) -> Origin | None:
    """Return the cell that defined a model; None without a cell."""
    if value is None:
        return None
    cell, offset = checked.row(value, 2)
    return Origin(checked.text(cell), checked.integer(offset, 0, NS))


_FOLDED: dict[str, Column] = {
    "caller": integers(-1, MAX_MODELS, -1),
    "model": integers(0, MAX_MODELS),
    "calls": TIME,
    "errors": TIME,
    "duration_ns": TIME,
    "first_ns": TIME,
    "last_ns": TIME,
    "latencies": lists(call_values.latency),
}
_GAPS: dict[str, Column] = {
    "caller": integers(-1, MAX_ID, -1),
    "model": integers(0, MAX_MODELS),
    "after": TIME,
    "calls": integers(1, NS, 1),
}
_DROPS: dict[str, Column] = {
    "what": texts(),
    "limit": texts(),
    "setting": TIME,
    "calls": TIME,
    "last": integers(-1, MAX_ID, -1),
}


def write_folded(
    folded: Sequence[FoldedCalls], models: Mapping[ModelInfo, int]
) -> dict[str, Values]:
    """Return counted calls as columns; ``models`` are the file's model numbers."""
    rows = [
        [
            -1 if each.caller is None else models[each.caller],
            models[each.model],
            *each[2:-1],
            list(map(list, each.latencies)),
        ]
        for each in folded
    ]
    return _columns(rows, _FOLDED, "model")


def write_gaps(trace: Trace, models: Mapping[ModelInfo, int]) -> dict[str, Values]:
    """Return where counted calls were as columns; callers by id, not by row."""
    rows = [
        [
            -1 if gap.caller < 0 else trace.spans[gap.caller].id,
            models[trace.models[gap.model]],
            gap.after,
            gap.calls,
        ]
        for gap in trace.gaps
    ]
    return _columns(rows, _GAPS, "model")


def write_drops(drops: Sequence[Drop]) -> dict[str, Values]:
    """Return drops as columns."""
    return _columns(drops, _DROPS, "what")


def _columns(
    rows: Sequence[Sequence[Any]], known: Mapping[str, Column], first: str
) -> dict[str, Values]:
    if not rows:
        return {first: []}
    columns = dict(zip(known, map(list, zip(*rows, strict=True)), strict=True))
    return {**written(columns, known), first: columns[first]}


def read_folded(value: Any, models: Sequence[ModelInfo]) -> tuple[FoldedCalls, ...]:
    """Return counted calls."""
    found = []
    for caller, model, *counts in rows_of(value, _FOLDED, "model"):
        if max(caller, model) >= len(models):
            raise Malformed(f"counted calls of model {model} by {caller}")
        # Also of a file without this column.
        checked.integer(counts[0], 1, NS)
        by = None if caller < 0 else models[caller]
        found.append(FoldedCalls(by, models[model], *counts))
    return tuple(found)


def read_gaps(value: Any, models: int) -> list[Gap]:
    """Return where counted calls were; the callers are ids, not rows."""
    gaps = [Gap(*row) for row in rows_of(value, _GAPS, "model")]
    for gap in gaps:
        if gap.model >= models:
            raise Malformed(f"a gap of model {gap.model}")
    return gaps


def read_drops(value: Any) -> tuple[Drop, ...]:
    """Return drops; unknown kinds are left out."""
    drops = (Drop(*row) for row in rows_of(value, _DROPS, "what"))
    return tuple(drop for drop in drops if drop.what in ("calls", "values"))
