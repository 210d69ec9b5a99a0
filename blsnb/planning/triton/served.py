"""Requests as a real server traced them, and the executions that they shared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from blsnb.planning.simulation.behaviour import Behaviour, behaviour
from blsnb.trace.spans import Span, Trace


@dataclass(slots=True, eq=False)
class ServedRequest:
    """A traced request of a client or of a model.

    Parameters
    ----------
    start_ns, end_ns
        When the server received the request, and when it had ended.
    queue_ns
        When it entered its queue.
    from_ns, until_ns
        Its execution; for an ensemble the whole request.
    output_ns
        When its response was ready: the next step of an ensemble may begin before the
        request has ended.
    """

    model: str
    is_ensemble: bool
    start_ns: int
    queue_ns: int
    from_ns: int
    until_ns: int
    end_ns: int
    output_ns: int
    calls: list[ServedRequest] = field(default_factory=list)

    @property
    def overhead_ns(self) -> int:
        """Time outside of its queue and its execution."""
        if self.is_ensemble:
            return 0
        return max(0, self.queue_ns - self.start_ns) + max(
            0, self.end_ns - self.until_ns
        )


def served(traces: Iterable[Trace]) -> list[ServedRequest]:
    """Return the requests of traces in the order of their starts, with their calls."""
    found: list[ServedRequest] = []
    for trace in traces:
        requests = [_request(trace, span) for span in trace.spans]
        for span, request in zip(trace.spans, requests, strict=True):
            caller = requests[span.parent] if span.parent >= 0 else None
            if caller is not None and request is not None:
                caller.calls.append(request)
        found += [each for each in requests if each is not None]
    return sorted(found, key=lambda each: each.start_ns)


def _request(trace: Trace, span: Span) -> ServedRequest | None:
    model = trace.models[span.model]
    start_ns, end_ns = span.request_start_ns, span.request_end_ns
    if span.error or not end_ns:
        return None
    if model.is_ensemble:
        times = start_ns, start_ns, start_ns, end_ns, end_ns, end_ns
        return ServedRequest(model.name, True, *times)
    if not span.compute_end_ns:
        return None
    return ServedRequest(
        model.name,
        False,
        start_ns,
        span.queue_start_ns or start_ns,
        span.compute_start_ns,
        span.compute_end_ns,
        end_ns,
        span.compute_output_start_ns or end_ns,
    )


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
    requests: Iterable[ServedRequest], sizes: Mapping[str, int]
) -> dict[str, Executions]:
    """Return the executions by model.

    Requests of a model that began to be executed at the same nanosecond were executed
    together.

    Parameters
    ----------
    sizes
        Batch size of each request, by model; 1 for others.
    """
    together: defaultdict[tuple[str, int, int], list[ServedRequest]] = defaultdict(list)
    for number, request in enumerate(requests):
        own = number if request.is_ensemble else -1
        together[request.model, request.from_ns, own].append(request)
    found: defaultdict[str, Executions] = defaultdict(lambda: Executions([], [], []))
    for (name, from_ns, _), members in sorted(
        together.items(), key=lambda each: each[0][1]
    ):
        calls = [
            (call.start_ns, _end_ns(member, call), call.model, sizes.get(call.model, 1))
            for member in members
            for call in member.calls
        ]
        until_ns = max(each.until_ns for each in members)
        size = len(members) * sizes.get(name, 1)
        executed = found[name]
        executed.behaviours.append(behaviour(from_ns, until_ns, calls, size, 0.0))
        executed.overheads_ns.extend(each.overhead_ns for each in members)
        executed.waits_ns.append(from_ns - min(each.queue_ns for each in members))
    return dict(found)


def _end_ns(caller: ServedRequest, call: ServedRequest) -> int:
    """Return when a call is over for its caller."""
    return _ready_ns(call) if caller.is_ensemble else call.end_ns


def _ready_ns(request: ServedRequest) -> int:
    if request.is_ensemble and request.calls:
        return max(map(_ready_ns, request.calls))
    return request.output_ns
