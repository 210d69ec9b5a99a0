"""The graph of models as boxes and edges: whole, or a part for each pipeline."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain

from blsnb.model_graph.graph import Measured, ModelGraph
from blsnb.views.callgraph import Box, CallGraph, Edge
from blsnb.views.pictures.layout import natural_width

_MAX_BOXES = 200
"""Maximum number of boxes; models without one are listed."""
_MAX_COPIES = 2
"""Maximum number of boxes of a model, on average; more of them hide what is shared."""
_NOT_MEASURED = Measured({}, {}, {})


def parts_of(graph: ModelGraph, width: float) -> tuple[list[CallGraph], list[int]]:
    """Return what is drawn in a width, and the model of each box by its number.

    Models with calls are drawn, or all if none has any. Their graph is whole if that is
    not too wide; otherwise each pipeline is a part, with its own box of a model that
    several have in common.
    """
    linked = {n for call in graph.calls for n in (call.source, call.target)}
    targets: dict[int, list[int]] = {}
    for call in graph.calls:
        targets.setdefault(call.source, []).append(call.target)
    found = pipelines(sorted(linked) or range(len(graph.models)), targets)
    together = list(dict.fromkeys(chain.from_iterable(found)))
    groups = [together[:_MAX_BOXES]]
    whole = _parts(graph, groups)
    ends = list(accumulate(map(len, found)))
    count = bisect_right(ends, _MAX_BOXES)
    is_tangle = not count or ends[-1] > _MAX_COPIES * len(together)
    if is_tangle or natural_width(whole[0]) <= width:
        return whole, groups[0]
    return _parts(graph, found[:count]), list(chain.from_iterable(found[:count]))


def pipelines(
    models: Iterable[int], targets: Mapping[int, Sequence[int]]
) -> list[list[int]]:
    """Return for each model without callers all models that a request reaches.

    Where models only call each other in a circle, the first of them begins a pipeline.

    Parameters
    ----------
    targets
        The models that each calls.
    """
    called = {each for source in targets for each in targets[source] if each != source}
    found: list[list[int]] = []
    seen: set[int] = set()
    for model in sorted(models, key=called.__contains__):
        if model not in seen:
            found.append(_reached(model, targets))
            seen.update(found[-1])
    return found


def _reached(first: int, targets: Mapping[int, Sequence[int]]) -> list[int]:
    """Return a model and those that it reaches, nearest first."""
    reached = {first: None}
    queue = [first]
    for model in queue:
        new = dict.fromkeys(t for t in targets.get(model, ()) if t not in reached)
        reached |= new
        queue += new
    return queue


def _parts(graph: ModelGraph, groups: Iterable[list[int]]) -> list[CallGraph]:
    """Return a graph of each group; the boxes of all are numbered through."""
    faults = Counter(found.model for found in graph.findings if found.is_fault)
    parts, start = [], 0
    for group in groups:
        keys = {model: number for number, model in enumerate(group, start)}
        boxes = [_box(graph, model, keys[model], faults) for model in group]
        parts.append(CallGraph(tuple(boxes), _edges(graph, keys)))
        start += len(group)
    return parts


def _box(graph: ModelGraph, number: int, key: int, faults: Counter[str]) -> Box:
    run, model = graph.measured or _NOT_MEASURED, graph.models[number]
    own, instances = run.own_us.get(model.name, 0.0), model.instance_count
    errors = faults[model.name] if model.is_known else int(model.kind == "missing")
    return Box(
        model=key,
        name=model.name,
        device=f"{instances} instances" if model.is_known and instances > 1 else "",
        calls=run.calls.get(model.name, 0),
        errors=errors,
        own_us=own,
        phases_us=(0.0, 0.0, own, 0.0),
        first=key,
        is_ensemble=model.kind == "ensemble",
    )


def _edges(graph: ModelGraph, keys: Mapping[int, int]) -> tuple[Edge, ...]:
    run = graph.measured or _NOT_MEASURED
    edges = []
    for call in graph.calls:
        if call.source not in keys or call.target not in keys:
            continue
        source, target = graph.models[call.source], graph.models[call.target]
        calls = max(1, run.edges.get((source.name, target.name), 0))
        edges.append(
            Edge(
                keys[call.source],
                keys[call.target],
                calls,
                int(call.is_async),
                int(call.is_stream),
                0,
                calls if target.kind == "missing" else 0,
            )
        )
    return tuple(edges)
