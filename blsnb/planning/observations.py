"""Executions of models as they were observed: in runs here, or in a recording."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from blsnb.model.config import ModelConfig
from blsnb.planning.simulation.behaviour import (
    SAME_SEQUENCE,
    Behaviour,
    Event,
    ObservedCall,
    behaviour,
)
from blsnb.request_fields import RequestFields
from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Span, Trace


class Observed(NamedTuple):
    """What is known of a model.

    Parameters
    ----------
    executions
        Its executions, in the order of their beginnings.
    overheads_ns
        Time of each request outside of queue and execution.
    durations_ns
        Duration of each execution.
    """

    executions: list[Behaviour]
    overheads_ns: list[int]
    durations_ns: list[int]


Key = tuple[str, str, int]


Configs = Mapping[str, ModelConfig]


def reached(traces: Iterable[Trace]) -> list[str]:
    """Return the names of the models that requests reached, sorted."""
    models = (model for trace in traces for model in trace.models)
    return sorted({model.name for model in models if model.kind != "span"})


def size_of(configs: Configs, trace: Trace, span: Span) -> int:
    """Return the batch size of a request; 1 for a model that does not batch."""
    config = configs.get(trace.models[span.model].name)
    is_batch = config is not None and config.max_batch_size > 0
    shapes = [ref.shape for ref in span.inputs]
    return int(shapes[0][0]) if is_batch and shapes and shapes[0] else 1


def observe(
    traces: Iterable[Trace],
    configs: Configs,
    computing_ns: Mapping[int, int] | None = None,
    unattributed: Iterable[Trace] = (),
) -> dict[str, Observed]:
    """Return the executions in traces, by model.

    Parameters
    ----------
    configs
        The configurations of the models, by name.
    computing_ns
        Processor time by the number of an execution; all own work of others counts as
        computing.
    unattributed
        Recorded calls of executions whose request is not known.
    """
    found: defaultdict[str, Observed] = defaultdict(lambda: Observed([], [], []))
    further = _unattributed(unattributed, configs)
    for key, members in sorted(
        _executions(traces).items(), key=lambda each: _start_ns(each[1])
    ):
        _, model, number = key
        start_ns, end_ns = _start_ns(members), _end_ns(members)
        calls = [*_calls(members, configs), *further.get(key, ())]
        size = sum(size_of(configs, trace, span) for trace, span in members)
        spent_ns = (computing_ns or {}).get(number)
        # The requests of an execution get as many responses as the first of them.
        sent = _sent(*members[0])
        whole = behaviour(start_ns, end_ns, calls, size, others=sent)
        observed = found[model]
        observed.executions.append(
            whole if spent_ns is None else whole.with_computing(spent_ns)
        )
        observed.durations_ns.append(end_ns - start_ns)
        observed.overheads_ns.extend(
            overhead_ns(trace, span) for trace, span in members
        )
    return dict(found)


def _unattributed(
    traces: Iterable[Trace], configs: Configs
) -> dict[Key, list[ObservedCall]]:
    """Return calls whose request is not known, by their execution."""
    found: defaultdict[Key, list[ObservedCall]] = defaultdict(list)
    for trace in traces:
        span = trace.spans[0]
        origin = span.origin if isinstance(span.origin, dict) else {}
        caller, number = origin.get("by"), origin.get("execution")
        if isinstance(caller, str) and isinstance(number, int):
            name = trace.models[span.model].name
            call = (span.request_start_ns, span.request_end_ns, name)
            found[trace.file, caller, number].append(
                ObservedCall(*call, size_of(configs, trace, span))
            )
    return found


def _executions(
    traces: Iterable[Trace],
) -> dict[Key, list[tuple[Trace, Span]]]:
    """Return the calls of each execution, which may be in several traces."""
    found: defaultdict[Key, list[tuple[Trace, Span]]] = defaultdict(list)
    for trace in traces:
        for span in trace.spans:
            model = trace.models[span.model]
            if model.is_ensemble and not span.error and not span.running:
                # An ensemble has no executions: each of its requests counts as one.
                found[trace.run_id, model.name, -1 - span.id].append((trace, span))
            elif span.execution and span.compute_end_ns and not span.error:
                found[trace.file, model.name, span.execution].append((trace, span))
    return found


def _start_ns(members: list[tuple[Trace, Span]]) -> int:
    return min(times_ns(trace, span)[0] for trace, span in members)


def times_ns(trace: Trace, span: Span) -> tuple[int, int]:
    """Return when the execution of a request began, and when its last response was."""
    if trace.models[span.model].is_ensemble:
        return span.request_start_ns, span.request_end_ns
    end_ns = span.request_end_ns if _is_stream(span) else span.compute_end_ns
    # Earlier recorders left the start out where it is that of the request.
    return span.compute_start_ns or span.request_start_ns, end_ns


def _is_stream(span: Span) -> bool:
    return bool(span.flags & CallFlag.DECOUPLED)


def _end_ns(members: list[tuple[Trace, Span]]) -> int:
    return max(times_ns(trace, span)[1] for trace, span in members)


def _calls(members: list[tuple[Trace, Span]], configs: Configs) -> list[ObservedCall]:
    return [
        _call(trace, span, child, configs)
        for trace, span in members
        for child in children(trace, span)
    ]


def _call(trace: Trace, parent: Span, span: Span, configs: Configs) -> ObservedCall:
    return ObservedCall(
        span.request_start_ns,
        span.request_end_ns,
        trace.models[span.model].name,
        size_of(configs, trace, span),
        _fields(parent.request_fields, span.request_fields),
        tuple(each.ns for each in span.responses if each.outputs or each.error),
    )


def _fields(parent: RequestFields, fields: RequestFields) -> RequestFields:
    """Return the fields of a call that decide when it is executed."""
    kept = fields._replace(version=-1, parameters=(), request_id="")
    if kept.correlation_id and kept.correlation_id == parent.correlation_id:
        return kept._replace(correlation_id=SAME_SEQUENCE)
    return kept


def _sent(trace: Trace, span: Span) -> list[Event]:
    """Return the responses of a decoupled model, and the return of ``execute``."""
    if not _is_stream(span) or trace.models[span.model].is_ensemble:
        return []
    found = [Event(span.compute_end_ns, returns=True)]
    before = 0
    for response in span.responses:
        # Those in the middle of many are only counted; the last is only a final flag.
        if response.outputs or response.error:
            found.append(Event(response.ns, sends=response.number + 1 - before))
        before = response.number + 1
    return found


def children(trace: Trace, span: Span) -> list[Span]:
    """Return the calls of models that a request led to."""
    found = [trace.spans[row] for row in trace.children[span.index]]
    return [child for child in found if trace.models[child.model].kind != "span"]


def overhead_ns(trace: Trace, span: Span) -> int:
    """Return the time of a request outside of its queue and its execution."""
    if trace.models[span.model].is_ensemble:
        return 0
    start_ns, end_ns = times_ns(trace, span)
    before_ns = (span.queue_start_ns or start_ns) - span.request_start_ns
    return max(0, before_ns) + max(0, span.request_end_ns - end_ns)
