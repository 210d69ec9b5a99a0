"""The calls of one run as a tree of spans, as a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np

from blsnb.clock.pausing_clock import Pause
from blsnb.printable import counted, printable
from blsnb.request_fields import RequestFields, spelled
from blsnb.runtimes.runtime import DeviceUse
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import SIMULATED, Activity, CallFlag, LogLine, ModelInfo
from blsnb.trace.facts import (
    Batching,
    ClockReading,
    Copy,
    Drop,
    ParameterPairs,
    Profile,
    RecordingFacts,
    TraceContext,
    UnreadChunk,
    time,
)
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.gaps import Gap, Name, Numbered, name_of, numbered
from blsnb.trace.lazy.call_fields import TIMES
from blsnb.trace.lazy.lazy_rows import column_of
from blsnb.trace.responses import ResponseEvent

_TIMES = attrgetter(*TIMES)


@dataclass(frozen=True, slots=True)
class Span:
    """One call of a trace, as a value.

    Times are nanoseconds of the monotonic clock; 0 means "not reached".
    """

    index: int
    """Position in ``Trace.spans``."""
    id: int
    """Number of the call in its run, in order of start; never reassigned."""
    parent: int
    """Position of the caller; -1 for a client request."""
    model: int
    """Index in ``Trace.models``."""
    instance: str
    request_fields: RequestFields
    requested_outputs: tuple[str, ...]
    """Names of the requested outputs; empty for all."""
    flags: CallFlag
    line: int
    execution: int
    """Number of the execution that ran it; see `Trace.batch_mates`."""
    batch: int
    """Number of requests of the execution, of all runs; 0 without an execution."""
    batching: tuple[Batching, ...]
    """Why it was executed in its batch, and not in those before."""
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
    """The kept responses."""
    response_count: int
    """Number of sent responses, kept or not; 0 for a call that is not decoupled."""
    error: str
    error_code: str
    logs: tuple[LogLine, ...]
    notes: tuple[str, ...]
    copies: tuple[Copy, ...] = ()
    """Copies of its tensors between the host and a device."""
    device_use: DeviceUse | None = None
    """Device use of its execution; None if it ran on the host."""
    response_parameters: ParameterPairs = ()
    """Parameters of the response; each of ``responses`` has its own."""
    origin: Any = None
    """Origin of the call in a recording, as JSON; not checked."""

    def __repr__(self) -> str:
        place = f"on {self.instance}" if self.instance else f"of model {self.model}"
        request = spelled(self.request_fields.options)
        said = f", {request}" if request else ""
        took = time(self.duration_ns / 1000)
        return printable(f"<Span {self.id} {place}: {took}{said}>")

    @property
    def request_id(self) -> str:
        """The identifier that its client or model gave the request."""
        return self.request_fields.request_id

    @property
    def events(self) -> tuple[tuple[Activity, int], ...]:
        """The activities that the call reached, in Triton's order, with times."""
        times = zip(Activity, _TIMES(self), strict=True)
        return tuple([(activity, ns) for activity, ns in times if ns])

    @property
    def duration_ns(self) -> int:
        """Time from REQUEST_START to REQUEST_END; 0 while the call runs."""
        return max(0, self.request_end_ns - self.request_start_ns)

    @property
    def running(self) -> bool:
        """Whether the call had not ended when the trace was taken."""
        return bool(self.flags & CallFlag.RUNNING)

    @property
    def has_tensors(self) -> bool:
        """Whether any tensor is recorded, with or without its value."""
        return any(True for _ in self.tensors)

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
    """Name of the model of the client request."""
    request_id: str
    models: tuple[ModelInfo, ...]
    spans: Sequence[Span]
    """In order of start; not changed by later recording."""
    taken_ns: int
    """Time at which the trace was taken: the end of running calls."""
    folded: tuple[FoldedCalls, ...] = ()
    """Calls of a long run that are only counted."""
    file: str = ""
    """Name of the file that it was read from; empty for a run of this process."""
    remarks: tuple[str, ...] = ()
    """Remarks about the file."""
    gaps: tuple[Gap, ...] = ()
    """Positions of counted calls, as far as known."""
    drops: tuple[Drop, ...] = ()
    """Dropped calls and values, with the limits that dropped them."""
    clock: ClockReading | None = None
    """Offset between the file's times and the time of day; None if unknown."""
    pauses: tuple[Pause, ...] = ()
    """Periods of a file in which a debugger stopped the process."""
    profiles: tuple[Profile, ...] = ()
    """Profiles of a file."""
    recording: RecordingFacts | None = None
    """The recording to which a file belongs; else None."""
    unread: tuple[UnreadChunk, ...] = ()
    """Optional chunks of unknown types in a file."""
    context: TraceContext | None = None
    """The OpenTelemetry context that its client sent; not part of a run file."""

    def __repr__(self) -> str:
        calls, models = len(self.spans), len(self.models)
        counts = f"{counted(calls, 'call')}, {counted(models, 'model')}"
        return printable(f"<Trace {self.run_id} {self.title}: {counts}>")

    def row_of(self, call: int) -> int:
        """Return the row of a call by its id; -1 if it is not in the trace."""
        spans = self.spans
        if 0 <= call < len(spans) and spans[call].id == call:
            return call
        return self._rows.get(call, -1)

    def column(self, name: str) -> Sequence[Any]:
        """Return a field of all spans, which is faster than reading each span."""
        if name not in self._columns:
            self._columns[name] = column_of(self.spans, name)
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, Sequence[Any]]:
        return {}

    @cached_property
    def _names(self) -> tuple[Name, ...]:
        return tuple(map(name_of, self.models))

    @cached_property
    def _rows(self) -> dict[int, int]:
        return {call: row for row, call in enumerate(self.column("id"))}

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Rows of each span's calls, in order."""
        caller = np.fromiter(self.column("parent"), np.int64, len(self.spans))
        order = np.argsort(caller, kind="stable")
        begin = np.searchsorted(caller[order], np.arange(len(order) + 1))
        rows = order.tolist()
        return tuple([tuple(rows[a:b]) for a, b in pairwise(begin.tolist())])

    def calls_by(self, caller: int) -> dict[Name, Numbered]:
        """Return the calls of a caller by model; row -1 means client requests."""
        rows = self.roots if caller < 0 else self.children[caller]
        gaps = self._gaps_by.get(caller, {})
        if not rows and not gaps:
            return {}
        groups: dict[Name, list[int]] = {}
        model_of, name_of_model = self.column("model"), self._names
        for row in rows:
            groups.setdefault(name_of_model[model_of[row]], []).append(row)
        names = dict.fromkeys([*groups, *gaps])
        return {
            name: numbered(groups.get(name, ()), gaps.get(name, {})) for name in names
        }

    @cached_property
    def _gaps_by(self) -> dict[int, dict[Name, dict[int, int]]]:
        found: dict[int, dict[Name, dict[int, int]]] = {}
        for caller, model, after, calls in self.gaps:
            by_name = found.setdefault(caller, {})
            by_name.setdefault(self._names[model], {})[after] = calls
        return found

    def batch_mates(self, row: int) -> tuple[int, ...]:
        """Return the other calls of this run in the same execution."""
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
        """Rows of client requests."""
        callers = self.column("parent")
        return tuple([row for row, caller in enumerate(callers) if caller < 0])

    @cached_property
    def start_ns(self) -> int:
        """Start of the first call; 0 for an empty trace."""
        return min(self.column("request_start_ns"), default=0)

    @cached_property
    def end_ns(self) -> int:
        """End of the last call; if a call still runs, the time of the trace."""
        if self.running:
            return self.taken_ns
        return max(self.column("request_end_ns"), default=0)

    @property
    def is_unattributed(self) -> bool:
        """Whether its request is a recorded BLS call of an unknown request."""
        origin = self.spans[0].origin
        return isinstance(origin, dict) and bool(origin.get("bls"))

    @property
    def is_simulated(self) -> bool:
        """Whether its calls were simulated and never executed."""
        return any(model.kind == SIMULATED for model in self.models)

    @property
    def running(self) -> bool:
        """Whether a call had not ended when the trace was taken."""
        return self._count(CallFlag.RUNNING) > 0

    @property
    def call_count(self) -> int:
        """Number of all calls, kept or counted."""
        return len(self.spans) + sum(folded.calls for folded in self.folded)

    @cached_property
    def error_count(self) -> int:
        """Number of failed calls."""
        kept = self._count(CallFlag.ERROR)
        return kept + sum(folded.errors for folded in self.folded)

    def _count(self, flag: CallFlag) -> int:
        return sum(calls for bits, calls in self._flags.items() if bits & flag)

    @cached_property
    def _flags(self) -> Counter[int]:
        # The operators and the hash of an IntFlag are slow.
        return Counter(map(int, self.column("flags")))
