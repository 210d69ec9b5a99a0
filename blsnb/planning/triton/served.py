"""Executions in the traces of a real server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from blsnb.planning.observations import children, overhead_ns, times_ns
from blsnb.planning.simulation.behaviour import Behaviour, behaviour
from blsnb.trace.spans import Span, Trace


class Executions(NamedTuple):
    """The executions of a model.

    Parameters
    ----------
    behaviours
        In the order of their starts; all own work counts as waiting.
    overheads_ns
        Time of each request outside of its queue and its execution.
    waits_ns
        Time of each execution's first request in its queue.
    """

    behaviours: list[Behaviour]
    overheads_ns: list[int]
    waits_ns: list[int]


def executions(
    traces: Iterable[Trace], sizes: Mapping[str, int]
) -> dict[str, Executions]:
    """Return the executions by model.

    Requests of a model that began to be executed at the same nanosecond were executed
    together.

    Parameters
    ----------
    sizes
        Batch size of each request, by model; 1 for others.
    """
    found: defaultdict[str, Executions] = defaultdict(lambda: Executions([], [], []))
    for (name, from_ns, _), members in sorted(
        _together(traces).items(), key=lambda each: each[0][1]
    ):
        calls = [
            _call(trace, span, call, sizes)
            for trace, span in members
            for call in children(trace, span)
            if _is_whole(trace, call)
        ]
        until_ns = max(times_ns(*each)[1] for each in members)
        size = len(members) * sizes.get(name, 1)
        executed = found[name]
        whole = behaviour(from_ns, until_ns, calls, size).with_computing(0)
        executed.behaviours.append(whole)
        executed.overheads_ns.extend(overhead_ns(*each) for each in members)
        starts_ns = [
            each.queue_start_ns or each.request_start_ns for _, each in members
        ]
        executed.waits_ns.append(from_ns - min(starts_ns))
    return dict(found)


def _together(
    traces: Iterable[Trace],
) -> dict[tuple[str, int, int], list[tuple[Trace, Span]]]:
    """Return the requests of each execution, in the order of their starts."""
    requests = [
        (trace, span)
        for trace in traces
        for span in trace.spans
        if _is_whole(trace, span)
    ]
    found: defaultdict[tuple[str, int, int], list[tuple[Trace, Span]]]
    found = defaultdict(list)
    for trace, span in sorted(requests, key=lambda each: each[1].request_start_ns):
        model = trace.models[span.model]
        # An ensemble has no executions: each of its requests counts as one.
        own = id(span) if model.is_ensemble else -1
        found[model.name, times_ns(trace, span)[0], own].append((trace, span))
    return found


def _is_whole(trace: Trace, span: Span) -> bool:
    """Whether a request was executed and has ended."""
    is_executed = trace.models[span.model].is_ensemble or span.compute_end_ns
    return bool(is_executed and span.request_end_ns and not span.error)


def _call(
    trace: Trace, caller: Span, call: Span, sizes: Mapping[str, int]
) -> tuple[int, int, str, int]:
    name, end_ns = trace.models[call.model].name, call.request_end_ns
    if trace.models[caller.model].is_ensemble:
        # The next step may begin before the request of the last one has ended.
        end_ns = _ready_ns(trace, call)
    return call.request_start_ns, end_ns, name, sizes.get(name, 1)


def _ready_ns(trace: Trace, span: Span) -> int:
    calls = [call for call in children(trace, span) if _is_whole(trace, call)]
    if trace.models[span.model].is_ensemble and calls:
        return max(_ready_ns(trace, call) for call in calls)
    return span.compute_output_start_ns or span.request_end_ns
