"""Convert traces to JSON for ui.perfetto.dev and chrome://tracing."""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

from blsnb.printable import shape_text
from blsnb.tensors.ref import TensorRef
from blsnb.trace.facts import Copy
from blsnb.trace.profiles.run_profile import profile_of
from blsnb.trace.profiles.samples import Stack, StackFrame
from blsnb.trace.spans import Span, Trace

_MAX_TEXT = 4096
_MAX_EXACT = 2**53
_FLOW = "call"
_FROM_0 = "call", "version", "requested_version"

Event = dict[str, Any]


def perfetto_json(traces: Iterable[Trace]) -> Iterator[str]:
    """Yield the text of a file in the Trace Event Format, piece by piece.

    Each run is a process and each instance a track; overlapping calls have further
    tracks. Waiting in a queue has tracks of its own. Arrows lead from callers to
    their calls. The samples of a profiled run are one more track for each model, with
    the stacks of all its calls merged from the start of the run.

    References
    ----------
    perfetto: docs/getting-started/other-formats.md, "Chrome JSON format"
    """
    between = '{"displayTimeUnit":"ns","traceEvents":['
    flows = itertools.count(1)
    for process, trace in enumerate(traces, 1):
        for event in _Process(process, trace, flows).events():
            yield between + json.dumps(event, separators=(",", ":"))
            between = ","
    yield (between if between != "," else "") + "]}"


class _Process:
    """The events of one run; ``flows`` numbers the arrows of the file."""

    def __init__(self, number: int, trace: Trace, flows: Iterator[int]) -> None:
        self._number = number
        self._trace = trace
        self._flows = flows
        self._start_ns = trace.start_ns
        self._tracks = _tracks(trace)
        named = sorted(set(self._tracks))
        self._threads = {track: at for at, track in enumerate(named, 1)}

    def events(self) -> Iterator[Event]:
        yield self._name("process_name", 0, _cut(self._trace.title or "no calls"))
        for (name, lane), thread in self._threads.items():
            beside = f" ({lane + 1})" if lane else ""
            yield self._name("thread_name", thread, _cut(name) + beside)
        for span in self._trace.spans:
            yield from self._call(span)
        yield from self._samples()

    def _name(self, what: str, thread: int, name: str) -> Event:
        return self._event("M", what, thread, args={"name": name})

    def _event(self, phase: str, name: str, thread: int, **fields: Any) -> Event:
        return {
            "ph": phase,
            "name": name,
            "pid": self._number,
            "tid": thread,
            **fields,
        }

    def _call(self, span: Span) -> Iterator[Event]:
        thread = self._threads[self._tracks[span.index]]
        name = _cut(self._trace.models[span.model].name)
        start_ns, end_ns = computing(span, self._trace)
        yield self._complete(name, thread, start_ns, end_ns, self._arguments(span))
        for phase, begins_ns, ends_ns in _phases(span):
            yield self._complete(phase, thread, begins_ns, ends_ns)
        for response in span.responses:
            at = min(max(response.ns, start_ns), end_ns)
            fields: Event = {"ts": self._us(at), "s": "t"}
            if response.parameters:
                fields["args"] = {"parameters": _parameters(response.parameters)}
            yield self._event("i", "response", thread, **fields)
        yield from self._queue(span, name, thread)
        if span.parent >= 0:
            yield from self._arrow(self._trace.spans[span.parent], span)

    def _complete(
        self,
        name: str,
        thread: int,
        start_ns: int,
        end_ns: int,
        args: Event | None = None,
    ) -> Event:
        # Both ends are rounded alike, so that nested events stay nested.
        start, end = self._us(start_ns), self._us(end_ns)
        fields: Event = {"cat": "triton", "ts": start, "dur": round(end - start, 3)}
        if args:
            fields["args"] = args
        return self._event("X", name, thread, **fields)

    def _samples(self) -> Iterator[Event]:
        """Yield the sampled stacks of each model as nested events."""
        profile = profile_of(self._trace)
        if profile is None:
            return
        us = profile.samples.interval_ns / 1000
        first = len(self._threads) + 1
        for thread, (model, stacks) in enumerate(profile.models().items(), first):
            yield self._name("thread_name", thread, f"{_cut(model)}, samples merged")
            for frame, start, count in _merged(sorted(stacks.items())):
                name = _cut(f"{frame.function} {frame.file}:{frame.line}")
                times = {"ts": round(start * us, 3), "dur": round(count * us, 3)}
                known = {"cat": "samples", "args": {"samples": count}}
                yield self._event("X", name, thread, **times, **known)

    def _queue(self, span: Span, name: str, thread: int) -> Iterator[Event]:
        if not 0 < span.queue_start_ns <= span.compute_start_ns:
            return
        title = f"{name} queue"
        known = {"cat": "queue", "id": f"{self._number}.{span.id}"}
        for phase, ns in (("b", span.queue_start_ns), ("e", span.compute_start_ns)):
            yield self._event(phase, title, thread, ts=self._us(ns), **known)

    def _arrow(self, caller: Span, span: Span) -> Iterator[Event]:
        """Yield both ends of an arrow; each must lie within its call."""
        number = next(self._flows)
        first_ns, last_ns = computing(caller, self._trace)
        left_ns = min(max(span.request_start_ns, first_ns), last_ns)
        came_ns, _ = computing(span, self._trace)
        for phase, end, ns in (("s", caller, left_ns), ("f", span, came_ns)):
            thread = self._threads[self._tracks[end.index]]
            fields: Event = {"cat": _FLOW, "id": number, "ts": self._us(ns)}
            if phase == "f":
                fields["bp"] = "e"
            yield self._event(phase, _FLOW, thread, **fields)

    def _arguments(self, span: Span) -> Event:
        model = self._trace.models[span.model]
        outputs = [*span.outputs, *(r for each in span.responses for r in each.outputs)]
        known: Event = {
            "call": span.id,
            "version": None if model.version < 0 else model.version,
            **_request(span),
            "line": span.line,
            "batch": span.batch,
            "error": _cut(span.error),
            "inputs": _shapes(span.inputs),
            "outputs": _shapes(outputs),
            "copies": list(map(_copied, span.copies)),
            "response_parameters": _parameters(span.response_parameters),
        }
        if span.device_use is not None:
            known["device_compute_us"] = span.device_use.compute_ns / 1000
            known["device_peak_bytes"] = span.device_use.peak_bytes
        return {
            name: value
            for name, value in known.items()
            if value or (value == 0 and name in _FROM_0)
        }

    def _us(self, ns: int) -> float:
        return (ns - self._start_ns) / 1000


def _merged(
    stacks: list[tuple[Stack, int]], depth: int = 0, start: int = 0
) -> Iterator[tuple[StackFrame, int, int]]:
    """Yield each line with the samples before it and its own; callers first.

    Parameters
    ----------
    stacks
        Sorted stacks that are equal up to a depth, with their samples.
    """
    for frame, group in itertools.groupby(stacks, lambda each: each[0][depth]):
        same = list(group)
        count = sum([samples for _, samples in same])
        yield frame, start, count
        deeper = [each for each in same if len(each[0]) > depth + 1]
        yield from _merged(deeper, depth + 1, start)
        start += count


def computing(span: Span, trace: Trace) -> tuple[int, int]:
    """Return start and end of a call on its instance, or of a call without one."""
    end_ns = span.request_end_ns or max(trace.taken_ns, span.request_start_ns)
    if not span.compute_start_ns:
        return span.request_start_ns, max(span.request_start_ns, end_ns)
    return span.compute_start_ns, max(
        span.compute_start_ns, span.compute_end_ns or end_ns
    )


def _phases(span: Span) -> Iterator[tuple[str, int, int]]:
    """Yield the phases of a call that completed its computation."""
    times = (
        span.compute_start_ns,
        span.compute_input_end_ns,
        span.compute_output_start_ns,
        span.compute_end_ns,
    )
    if all(times) and list(times) == sorted(times):
        names = ("compute_input", "compute_infer", "compute_output")
        yield from zip(names, times, times[1:], strict=False)


def _tracks(trace: Trace) -> list[tuple[str, int]]:
    """Return each call's track: its instance, and a lane without overlap."""
    free: dict[str, list[tuple[int, int]]] = {}
    tracks = [("", 0)] * len(trace.spans)
    for span in sorted(trace.spans, key=lambda span: computing(span, trace)):
        name = span.instance or trace.models[span.model].name
        start_ns, end_ns = computing(span, trace)
        lanes = free.setdefault(name, [])
        if lanes and lanes[0][0] <= start_ns:
            _, lane = heapq.heappop(lanes)
        else:
            lane = len(lanes)
        heapq.heappush(lanes, (end_ns, lane))
        tracks[span.index] = name, lane
    return tracks


def _request(span: Span) -> Event:
    """Return the fields of a request by the names of the options of ``infer``."""
    options = dict(span.request_fields.options)
    # The call has the version that ran.
    version = options.pop("version", None)
    parameters = _parameters(options.pop("parameters", {}).items())
    texts = {name: _value(value) for name, value in options.items()}
    return {"requested_version": version, **texts, "parameters": parameters}


def _parameters(pairs: Iterable[tuple[str, Any]]) -> Event:
    return {_cut(name): _value(value) for name, value in pairs}


def _value(value: Any) -> Any:
    """Return a value that all JSON readers read without loss."""
    if isinstance(value, int | float) and abs(value) <= _MAX_EXACT:
        return value
    return _cut(str(value))


def _shapes(refs: Iterable[TensorRef]) -> dict[str, str]:
    return {
        _cut(ref.name): f"{ref.dtype.datatype}{shape_text(ref.shape)}" for ref in refs
    }


def _copied(copy: Copy) -> str:
    ways = f"{_cut(copy.tensor)}: {copy.source} to {copy.target}"
    return f"{ways}, {copy.byte_size} bytes in {copy.duration_ns / 1000} us"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
