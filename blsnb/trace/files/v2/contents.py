"""The contents of a run file, version 2, and its trace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from blsnb.clock.pausing_clock import Pause
from blsnb.printable import counted
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import CallFlag, ModelInfo
from blsnb.trace.facts import (
    ClockReading,
    Drop,
    Profile,
    RecordingFacts,
    UnreadChunk,
)
from blsnb.trace.files import checked
from blsnb.trace.files.checked import Malformed
from blsnb.trace.files.saved_run import SavedResponse, SavedRun
from blsnb.trace.files.v2 import call_values
from blsnb.trace.files.v2.call_columns import FACTS, MAX_ID, read_calls
from blsnb.trace.files.v2.model_rows import (
    MAX_MODELS,
    read_drops,
    read_folded,
    read_gaps,
    read_model,
)
from blsnb.trace.files.v2.response_columns import read_answer, read_responses
from blsnb.trace.files.v2.tensor_columns import read_tensors
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.gaps import Gap
from blsnb.trace.responses import ResponseEvent
from blsnb.trace.spans import Span, Trace


class RunContents:
    """Contents of a run file, filled in chunk by chunk.

    Each ``take`` method receives the JSON and the body of a chunk of one type.

    Raises
    ------
    Malformed
        The chunk is not valid.
    """

    def __init__(self) -> None:
        self.run = self.request_id = ""
        self.title: str | None = None
        """None: the name of the first call's model."""
        self.clock: ClockReading | None = None
        self.recording: RecordingFacts | None = None
        self.models: list[ModelInfo] = []
        self.tensors: list[TensorRef] = []
        self.calls: dict[int, tuple[Any, ...]] = {}
        """Facts of each call by id, in the order of `FACTS`."""
        self.responses: dict[int, list[ResponseEvent]] = defaultdict(list)
        self.folded: tuple[FoldedCalls, ...] = ()
        self.gaps: Sequence[Gap] = ()
        """Gaps whose callers are ids, not rows."""
        self.drops: tuple[Drop, ...] = ()
        self.received: tuple[SavedResponse, ...] | None = None
        self.error: str | None = None
        self.pauses: tuple[Pause, ...] = ()
        self.profiles: list[Profile] = []
        self.unread: list[UnreadChunk] = []
        self.remarks: list[str] = []
        self.taken_ns: int | None = None
        """When the trace was taken; None until the last chunk is read."""

    def take_head(self, value: dict[str, Any], body: bytes) -> None:
        """Take the first chunk; its format was checked before."""
        self.run = checked.text(value.get("run", ""))
        self.title = checked.optional_text(value.get("title"))
        self.request_id = checked.text(value.get("request_id", ""))
        if value.get("kind") == "recording":
            self.recording = RecordingFacts(value.get("process"), value.get("settings"))
        clock = value.get("clock")
        if clock is not None:
            self.clock = ClockReading(
                call_values.ns(checked.part(checked.table(clock), "monotonic_ns")),
                call_values.ns(checked.part(clock, "unix_ns")),
            )

    def take_models(self, value: dict[str, Any], body: bytes) -> None:
        """Take models."""
        self.models += checked.listed(checked.part(value, "models"), read_model)
        if len(self.models) > MAX_MODELS:
            raise Malformed(f"more than {MAX_MODELS:,} models")

    def take_tensors(self, value: dict[str, Any], body: bytes) -> None:
        """Take tensors."""
        self.tensors += read_tensors(value, body, self.tensors)

    def take_calls(self, value: dict[str, Any], body: bytes) -> None:
        """Take calls; a known one is replaced."""
        ids, rows = read_calls(value, len(self.models), self.tensors)
        self.calls.update(zip(ids, rows, strict=True))

    def take_responses(self, value: dict[str, Any], body: bytes) -> None:
        """Take responses of decoupled calls."""
        for call, event in read_responses(value, self.tensors):
            self.responses[call].append(event)

    def take_folded(self, value: dict[str, Any], body: bytes) -> None:
        """Take counted and dropped calls; they replace earlier counts."""
        self.folded = read_folded(checked.part(value, "folded"), self.models)
        self.gaps = read_gaps(checked.part(value, "gaps"), len(self.models))
        self.drops = read_drops(value.get("drops", {"what": []}))

    def take_answer(self, value: dict[str, Any], body: bytes) -> None:
        """Take what the client received."""
        self.received = read_answer(checked.part(value, "responses"), self.tensors)
        self.error = checked.optional_text(value.get("error"))

    def take_pauses(self, value: dict[str, Any], body: bytes) -> None:
        """Take the pauses of a debugger."""
        self.pauses = checked.listed(checked.part(value, "paused"), _pause)

    def take_profile(self, value: dict[str, Any], body: bytes) -> None:
        """Take a profile, unchanged."""
        kind, call = checked.text(value.get("kind", "")), value.get("call")
        if call is not None:
            checked.integer(call, 0, MAX_ID)
        data = {k: v for k, v in value.items() if k not in ("kind", "call")}
        self.profiles.append(Profile(kind, call, data, body))

    def take_remarks(self, value: dict[str, Any], body: bytes) -> None:
        """Take sentences about the file."""
        self.remarks += checked.listed(checked.part(value, "remarks"), checked.text)

    def take_end(self, value: dict[str, Any], body: bytes) -> None:
        """Take the last chunk."""
        self.taken_ns = call_values.ns(checked.part(value, "taken_ns"))
        left_out = checked.row(value.get("left_out", [0, 0]), 2)
        count, size = map(call_values.ns, left_out)
        # A file that blsnb wrote contains its own remark about them.
        if count and not any(f"({size:,} bytes)" in remark for remark in self.remarks):
            self.remarks.append(
                f"The file does not contain the values of {counted(count, 'tensor')} "
                f"({size:,} bytes)."
            )

    def saved(self, file: str) -> SavedRun:
        """Return the run that was read from a file with a name."""
        return SavedRun(self._trace(file), self.received, self.error)

    def _trace(self, file: str) -> Trace:
        """Return the calls of the named file as a trace; may be called once."""
        remarks = (*self.remarks, *self._missing())
        rows = {id: row for row, id in enumerate(sorted(self.calls))}
        spans = tuple(self._span(id, rows) for id in rows)
        title = self.title
        if title is None:
            title = self.models[spans[0].model].name if spans else ""
        return Trace(
            self.run,
            title,
            self.request_id,
            tuple(self.models),
            spans,
            _last_ns(spans) if self.taken_ns is None else self.taken_ns,
            self.folded,
            file,
            remarks,
            _gaps(self.gaps, rows),
            self.drops,
            self.clock,
            self.pauses,
            tuple(self.profiles),
            self.recording,
            tuple(self.unread),
        )

    def _span(self, id: int, rows: Mapping[int, int]) -> Span:
        # Removed, because the facts of a call are not needed besides its span.
        facts = dict(zip(FACTS, self.calls.pop(id), strict=True))
        responses = tuple(self.responses.get(id, ()))
        facts["parent"] = rows.get(facts["parent"], -1)
        facts["response_count"] = max(facts["response_count"], len(responses))
        if self.taken_ns is None and not facts["request_end_ns"]:
            facts["flags"] |= CallFlag.RUNNING
        return Span(index=rows[id], id=id, responses=responses, **facts)

    def _missing(self) -> list[str]:
        """Return remarks about references to calls that the file lacks."""
        calls = self.calls
        parents = [facts[0] for facts in calls.values() if facts[0] >= 0]
        orphans = sum(parent not in calls for parent in parents)
        sent = sum(len(e) for id, e in self.responses.items() if id not in calls)
        found = []
        if orphans:
            found.append(
                f"The file does not contain the callers of {orphans:,} of its calls: "
                "they are shown as client requests."
            )
        if sent:
            responses = counted(sent, "response")
            found.append(f"The file does not contain the calls of {responses}.")
        return found


def _pause(value: Any) -> Pause:
    start_ns, duration_ns = checked.row(value, 2)
    return Pause(call_values.ns(start_ns), call_values.ns(duration_ns))


def _last_ns(spans: Sequence[Span]) -> int:
    """Return the last known time of a file that was not completed."""
    times = (ns for span in spans for _, ns in span.events)
    sent = (event.ns for span in spans for event in span.responses)
    return max([0, *times, *sent])


def _gaps(gaps: Sequence[Gap], rows: Mapping[int, int]) -> tuple[Gap, ...]:
    known = [gap for gap in gaps if gap.caller < 0 or gap.caller in rows]
    return tuple(gap._replace(caller=rows.get(gap.caller, -1)) for gap in known)
