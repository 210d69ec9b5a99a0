"""Trace: the calls of one run as a tree of spans, as a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from blsnb.request_fields import RequestFields
from blsnb.runtimes.runtime import DeviceUse
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import Activity, CallFlag, LogLine, ModelInfo
from blsnb.trace.facts import (
    Batching,
    ClockReading,
    Copy,
    Drop,
    ParameterPairs,
    Pause,
    Profile,
    Recording,
    UnreadChunk,
)
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.gaps import Gap, Name, Numbered, name_of, numbered
from blsnb.trace.responses import ResponseEvent


@dataclass(frozen=True, slots=True)
class Span:
    """One call of a finished or running trace, as a value.

    Times are nanoseconds of the monotonic clock; 0 means "not reached".
    """

    index: int
    """Position in ``Trace.spans``."""
    id: int
    """Number of the call in its run, in order of start; the same in every trace."""
    parent: int
    """Position of the caller; -1 for a request from outside."""
    model: int
    """Index in ``Trace.models``."""
    instance: str
    request_fields: RequestFields
    requested_outputs: tuple[str, ...]
    """Names of the outputs asked for; empty for all of them."""
    flags: CallFlag
    line: int
    execution: int
    """Number of the ``execute`` that ran it; see `Trace.batch_mates`."""
    batch: int
    """How many requests that was for, of all runs; 0 if it came to none."""
    batching: tuple[Batching, ...]
    """Of a batching model: why it left with whom, and not with those before it."""
    request_start_ns: int
    queue_start_ns: int
    compute_start_ns: int
    compute_input_end_ns: int
    compute_output_start_ns: int
    compute_end_ns: int
    request_end_ns: int
    inputs: tuple[TensorRef, ...]
    outputs: tuple[TensorRef, ...]
    responses: tuple[ResponseEvent, ...]
    """Those that are kept one by one."""
    response_count: int
    """Of those sent, kept or not; 0 for a call that is not decoupled."""
    error: str
    error_code: str
    logs: tuple[LogLine, ...]
    notes: tuple[str, ...]
    copies: tuple[Copy, ...] = ()
    """Tensors copied for it between the host and a device."""
    device_use: DeviceUse | None = None
    """What its ``execute`` did on a device; None if it ran on the host."""
    response_parameters: ParameterPairs = ()
    """Of a file that another program wrote; blsnb does not record them."""
    origin: Any = None
    """What a recording knows of where the call came from, as JSON; not checked."""

    def __repr__(self) -> str:
        place = f"on {self.instance}" if self.instance else f"of model {self.model}"
        return f"<Span {self.id} {place}: {self.duration_ns / 1e6:.3g} ms>"

    @property
    def request_id(self) -> str:
        """The identifier that its client or model gave the request."""
        return self.request_fields.request_id

    @property
    def events(self) -> tuple[tuple[Activity, int], ...]:
        """The activities that were reached, in Triton's order, with their times."""
        times = (
            self.request_start_ns,
            self.queue_start_ns,
            self.compute_start_ns,
            self.compute_input_end_ns,
            self.compute_output_start_ns,
            self.compute_end_ns,
            self.request_end_ns,
        )
        return tuple((a, ns) for a, ns in zip(Activity, times, strict=True) if ns)

    @property
    def duration_ns(self) -> int:
        """From REQUEST_START to REQUEST_END; 0 while it runs."""
        return max(0, self.request_end_ns - self.request_start_ns)

    @property
    def running(self) -> bool:
        """Whether the call had not ended when the trace was taken."""
        return bool(self.flags & CallFlag.RUNNING)

    @property
    def has_tensors(self) -> bool:
        """Whether any tensor of it is recorded, with its value or without."""
        sent = (response.outputs for response in self.responses)
        return bool(self.inputs or self.outputs) or any(sent)

    @property
    def tensors(self) -> Iterator[TensorRef]:
        """All recorded tensors: inputs, outputs, outputs of its responses."""
        yield from self.inputs
        yield from self.outputs
        for response in self.responses:
            yield from response.outputs


@dataclass(frozen=True)
class Trace:
    """The calls of one run, in the order in which they started."""

    run_id: str
    title: str
    """Name of the model that was asked from outside."""
    request_id: str
    models: tuple[ModelInfo, ...]
    spans: tuple[Span, ...]
    taken_ns: int
    """When this trace was taken: the end of what still runs."""
    folded: tuple[FoldedCalls, ...] = ()
    """Further calls of a long run, which are only counted."""
    file: str = ""
    """Name of the file it was read from; empty for a run of this process."""
    remarks: tuple[str, ...] = ()
    """What there is to say about that file."""
    gaps: tuple[Gap, ...] = ()
    """Where those are that are only counted, as far as it is known."""
    drops: tuple[Drop, ...] = ()
    """What is no longer kept of the run, and which limit dropped it."""
    clock: ClockReading | None = None
    """Ties the times of a file to the time of day; None if the file does not."""
    pauses: tuple[Pause, ...] = ()
    """When a debugger held the process, as far as a file says."""
    profiles: tuple[Profile, ...] = ()
    """Profiles of a file, as they were written."""
    recording: Recording | None = None
    """Of a file that is part of a recording; else None."""
    unread: tuple[UnreadChunk, ...] = ()
    """Optional chunks of a file that blsnb does not know."""

    def __repr__(self) -> str:
        counts = f"{len(self.spans)} calls, {len(self.models)} models"
        return f"<Trace {self.run_id} {self.title}: {counts}>"

    def row_of(self, call: int) -> int:
        """Return the position of a call in `spans` by its id; -1 if it has none."""
        spans = self.spans
        if 0 <= call < len(spans) and spans[call].id == call:
            return call
        return self._rows.get(call, -1)

    @cached_property
    def _rows(self) -> dict[int, int]:
        return {span.id: row for row, span in enumerate(self.spans)}

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Of each span, the rows of the calls that it made, in order."""
        rows: list[list[int]] = [[] for _ in self.spans]
        for span in self.spans:
            if span.parent >= 0:
                rows[span.parent].append(span.index)
        return tuple(map(tuple, rows))

    def calls_by(self, caller: int) -> dict[Name, Numbered]:
        """Return the calls that a call made, or those from outside, model by model.

        Parameters
        ----------
        caller
            Its row; -1 for requests from outside.
        """
        rows = self.roots if caller < 0 else self.children[caller]
        gaps = self._gaps_by.get(caller, {})
        if not rows and not gaps:
            return {}
        groups: dict[Name, list[int]] = {}
        for row in rows:
            name = name_of(self.models[self.spans[row].model])
            groups.setdefault(name, []).append(row)
        names = dict.fromkeys([*groups, *gaps])
        return {
            name: numbered(groups.get(name, ()), gaps.get(name, {})) for name in names
        }

    @cached_property
    def _gaps_by(self) -> dict[int, dict[Name, dict[int, int]]]:
        found: dict[int, dict[Name, dict[int, int]]] = {}
        for caller, model, after, calls in self.gaps:
            by_name = found.setdefault(caller, {})
            by_name.setdefault(name_of(self.models[model]), {})[after] = calls
        return found

    def batch_mates(self, row: int) -> tuple[int, ...]:
        """Return the other calls of this run that the same ``execute`` answered."""
        span = self.spans[row]
        together = self._executions.get((span.model, span.execution), ())
        return tuple(mate for mate in together if mate != row)

    @cached_property
    def _executions(self) -> dict[tuple[int, int], list[int]]:
        rows: dict[tuple[int, int], list[int]] = {}
        for span in self.spans:
            if span.execution:
                rows.setdefault((span.model, span.execution), []).append(span.index)
        return rows

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """Rows of the requests from outside."""
        return tuple(span.index for span in self.spans if span.parent < 0)

    @cached_property
    def start_ns(self) -> int:
        """Start of the first call; 0 for an empty trace."""
        return min((span.request_start_ns for span in self.spans), default=0)

    @cached_property
    def end_ns(self) -> int:
        """End of the last call, or the time the trace was taken if one still runs."""
        if any(span.running for span in self.spans):
            return self.taken_ns
        return max((span.request_end_ns for span in self.spans), default=0)

    @property
    def running(self) -> bool:
        """Whether a call had not ended when the trace was taken."""
        return any(span.running for span in self.spans)

    @property
    def folded_count(self) -> int:
        """Number of calls that are only counted."""
        return sum(folded.calls for folded in self.folded)

    @property
    def call_count(self) -> int:
        """Number of calls, whether kept or only counted."""
        return len(self.spans) + self.folded_count

    @cached_property
    def error_count(self) -> int:
        """Number of failed calls."""
        kept = sum(bool(span.flags & CallFlag.ERROR) for span in self.spans)
        return kept + sum(folded.errors for folded in self.folded)
