"""Call graph of a trace: a box per model, an edge per pair of caller and callee."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from blsnb.trace.events import CallFlag, ModelInfo
from blsnb.trace.spans import Trace
from blsnb.views.columns import Array, Columns, OfTrace, columns_of
from blsnb.views.rows import distinct_names

_MAX_BOXES = 60
_KEPT = 40
"""Number of boxes that are kept if there are too many models."""
_OTHERS = -1
_FAILING_SHARE = 0.05
"""Minimum share of failed calls for which a box is marked."""


@dataclass(frozen=True, slots=True)
class Box:
    """All calls of one model."""

    model: int
    """Index in ``Trace.models``; -1 for the box of all other models."""
    name: str
    device: str
    calls: int
    errors: int
    own_us: float
    """Time not covered by child calls."""
    phases_us: tuple[float, ...]
    """Queue, input, own inference, output."""
    first: int
    """Row of the first call; siblings are drawn in this order."""
    is_ensemble: bool = False
    """Whether it is an ensemble, whose own time is the time between its steps."""

    @property
    def failing(self) -> bool:
        """Whether more than 5 % of the calls failed."""
        return self.errors > _FAILING_SHARE * self.calls


@dataclass(frozen=True, slots=True)
class Edge:
    """All calls from one model to another."""

    source: int
    target: int
    calls: int
    asynchronous: int
    streams: int
    responses: int
    errors: int

    @property
    def failing(self) -> bool:
        """Whether more than 5 % of the calls failed."""
        return self.errors > _FAILING_SHARE * self.calls


@dataclass(frozen=True, slots=True)
class CallGraph:
    """Boxes in order of their first call, and the edges between them."""

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]


def call_graph(trace: Trace) -> CallGraph:
    """Sum up the calls of a trace by model, including calls that are only counted."""
    graph = _whole(trace)
    return graph if len(graph.boxes) <= _MAX_BOXES else _gathered(graph)


def own_times(trace: Trace) -> dict[str, float]:
    """Return the own time of each model in microseconds, by name."""
    own: dict[str, float] = {}
    for box in _whole(trace).boxes:
        name = trace.models[box.model].name
        own[name] = own.get(name, 0.0) + box.own_us
    return own


@OfTrace
def _whole(trace: Trace) -> CallGraph:
    """Return the graph with a box for every model."""
    columns = columns_of(trace)
    graph = CallGraph(_boxes(trace, columns), _edges(columns))
    return _with_folded(graph, trace) if trace.folded else graph


def _boxes(trace: Trace, columns: Columns) -> tuple[Box, ...]:
    size = len(trace.models)
    names = distinct_names(trace)

    def summed(weights: Array) -> list[float]:
        sums: list[float] = np.bincount(columns.model, weights, minlength=size).tolist()
        return sums

    calls = summed(np.ones(len(columns.model)))
    errors = summed(columns.has(CallFlag.ERROR))
    own = summed(columns.own_us)
    _, queue, load, infer, output, _ = np.nan_to_num(columns.phases)
    phases = (queue, load, np.maximum(0.0, infer - columns.covered_us), output)
    sums = list(zip(*map(summed, phases), strict=True))
    present, first = np.unique(columns.model, return_index=True)
    boxes = [
        Box(
            model=model,
            name=names[model],
            device=_device(trace.models[model]),
            calls=int(calls[model]),
            errors=int(errors[model]),
            own_us=own[model],
            phases_us=sums[model],
            first=row,
            is_ensemble=trace.models[model].is_ensemble,
        )
        for model, row in zip(present.tolist(), first.tolist(), strict=True)
    ]
    return tuple(sorted(boxes, key=lambda box: box.first))


def _device(model: ModelInfo) -> str:
    # Only the steps of an ensemble have a device.
    return "" if model.is_ensemble else model.device


def _edges(columns: Columns) -> tuple[Edge, ...]:
    made = np.flatnonzero(columns.parent >= 0)
    source = columns.model[columns.parent[made]].astype(np.int64)
    pairs, first, inverse = np.unique(
        source << 16 | columns.model[made], return_index=True, return_inverse=True
    )

    def summed(values: Array) -> list[int]:
        weights = values[made].astype(np.float64)
        sums = np.bincount(inverse.ravel(), weights, minlength=len(pairs))
        return [round(value) for value in sums.tolist()]

    streams = columns.has(CallFlag.DECOUPLED)
    sums = zip(
        summed(np.ones(len(columns.parent))),
        summed(columns.has(CallFlag.ASYNC)),
        summed(streams),
        summed(columns.responses * streams),
        summed(columns.has(CallFlag.ERROR)),
        strict=True,
    )
    edges = [
        Edge(pair >> 16, pair & 0xFFFF, *numbers)
        for pair, numbers in zip(pairs.tolist(), sums, strict=True)
    ]
    return tuple(edges[place] for place in np.argsort(first).tolist())


def _with_folded(graph: CallGraph, trace: Trace) -> CallGraph:
    """Add the calls that are only counted; at least one call of each pair is kept."""
    number = {model: place for place, model in enumerate(trace.models)}
    boxes = {box.model: box for box in graph.boxes}
    edges = {(edge.source, edge.target): edge for edge in graph.edges}
    for caller, model, calls, errors, duration_ns, *_ in trace.folded:
        target = number[model]
        us = duration_ns / 1000
        boxes[target] = _grown(boxes[target], calls, errors, us)
        if caller is None:
            continue
        source = number[caller]
        # Their time is not the caller's own time.
        boxes[source] = _grown(boxes[source], 0, 0, -us)
        edge = edges[source, target]
        edges[source, target] = replace(
            edge, calls=edge.calls + calls, errors=edge.errors + errors
        )
    return CallGraph(tuple(boxes.values()), tuple(edges.values()))


def _grown(box: Box, calls: int, errors: int, us: float) -> Box:
    queue, load, infer, output = box.phases_us
    return replace(
        box,
        calls=box.calls + calls,
        errors=box.errors + errors,
        own_us=max(0.0, box.own_us + us),
        phases_us=(queue, load, max(0.0, infer + us), output),
    )


def _gathered(graph: CallGraph) -> CallGraph:
    """Keep the largest boxes by own time, and join all others in one."""
    largest = sorted(graph.boxes, key=lambda box: -box.own_us)[:_KEPT]
    kept = {box.model for box in largest}
    rest = [box for box in graph.boxes if box.model not in kept]
    shown = [box for box in graph.boxes if box.model in kept]
    edges: dict[tuple[int, int], Edge] = {}
    for edge in graph.edges:
        source = edge.source if edge.source in kept else _OTHERS
        target = edge.target if edge.target in kept else _OTHERS
        known = edges.get((source, target), Edge(source, target, 0, 0, 0, 0, 0))
        edges[source, target] = replace(
            known,
            calls=known.calls + edge.calls,
            asynchronous=known.asynchronous + edge.asynchronous,
            streams=known.streams + edge.streams,
            responses=known.responses + edge.responses,
            errors=known.errors + edge.errors,
        )
    return CallGraph((*shown, _others(rest)), tuple(edges.values()))


def _others(rest: list[Box]) -> Box:
    phases = zip(*(box.phases_us for box in rest), strict=True)
    return Box(
        model=_OTHERS,
        name=f"+{len(rest)} models",
        device="",
        calls=sum(box.calls for box in rest),
        errors=sum(box.errors for box in rest),
        own_us=sum(box.own_us for box in rest),
        phases_us=tuple(map(sum, phases)),
        first=rest[0].first,
    )
