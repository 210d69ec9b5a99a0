"""What the chunks of a run file say together, and the trace that it makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import CallFlag, ModelInfo
from blsnb.trace.facts import ClockReading, Pause, Profile
from blsnb.trace.files import checked
from blsnb.trace.files.checked import Malformed
from blsnb.trace.files.saved_run import SavedResponse
from blsnb.trace.files.v2 import call_values
from blsnb.trace.files.v2.call_columns import FACTS, MOST_ID, read_calls
from blsnb.trace.files.v2.model_rows import (
    MOST_MODELS,
    FileGap,
    read_folded,
    read_gaps,
    read_model,
)
from blsnb.trace.files.v2.response_columns import (
    optional_text,
    read_answer,
    read_responses,
)
from blsnb.trace.files.v2.tensor_columns import read_tensors
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.gaps import Gap
from blsnb.trace.responses import ResponseEvent
from blsnb.trace.spans import Span, Trace


class Answer(NamedTuple):
    """What the client received."""

    responses: tuple[SavedResponse, ...]
    error: str | None


class RunContents:
    """Filled in chunk by chunk.

    Each method takes the JSON of a chunk of one type, and its body.

    Raises
    ------
    Malformed
        The chunk is not valid.
    """

    def __init__(self) -> None:
        self.run = self.request_id = ""
        self.title: str | None = None
        """None if the file leaves it to the first call."""
        self.clock: ClockReading | None = None
        self.models: list[ModelInfo] = []
        self.tensors: list[TensorRef] = []
        self.calls: dict[int, tuple[Any, ...]] = {}
        """By id; the facts are in the order of `FACTS`."""
        self.responses: dict[int, list[ResponseEvent]] = defaultdict(list)
        self.folded: tuple[FoldedCalls, ...] = ()
        self.gaps: Sequence[FileGap] = ()
        self.answer: Answer | None = None
        self.pauses: tuple[Pause, ...] = ()
        self.profiles: list[Profile] = []
        self.remarks: list[str] = []
        self.taken_ns: int | None = None
        """When the trace was taken; None until the last chunk says so."""

    def take_head(self, value: dict[str, Any], body: bytes) -> None:
        """Take what the file says first; its format is known already."""
        self.run = checked.text(value.get("run", ""))
        self.title = optional_text(value.get("title"))
        self.request_id = checked.text(value.get("request_id", ""))
        clock = value.get("clock")
        if clock is not None:
            self.clock = ClockReading(
                call_values.ns(checked.part(checked.table(clock), "monotonic_ns")),
                call_values.ns(checked.part(clock, "unix_ns")),
            )

    def take_models(self, value: dict[str, Any], body: bytes) -> None:
        """Take models."""
        self.models += checked.listed(checked.part(value, "models"), read_model)
        if len(self.models) > MOST_MODELS:
            raise Malformed(f"more than {MOST_MODELS:,} models")

    def take_tensors(self, value: dict[str, Any], body: bytes) -> None:
        """Take tensors."""
        self.tensors += read_tensors(value, body, self.tensors)

    def take_calls(self, value: dict[str, Any], body: bytes) -> None:
        """Take calls; one that is known is replaced."""
        ids, rows = read_calls(value, len(self.models), self.tensors)
        self.calls.update(zip(ids, rows, strict=True))

    def take_responses(self, value: dict[str, Any], body: bytes) -> None:
        """Take responses of decoupled calls."""
        for call, event in read_responses(value, self.tensors):
            self.responses[call].append(event)

    def take_folded(self, value: dict[str, Any], body: bytes) -> None:
        """Take counted calls; those known before are replaced."""
        self.folded = read_folded(checked.part(value, "folded"), self.models)
        self.gaps = read_gaps(checked.part(value, "gaps"), len(self.models))

    def take_answer(self, value: dict[str, Any], body: bytes) -> None:
        """Take what the client received."""
        responses = read_answer(checked.part(value, "responses"), self.tensors)
        self.answer = Answer(responses, optional_text(value.get("error")))

    def take_pauses(self, value: dict[str, Any], body: bytes) -> None:
        """Take the pauses of a debugger."""
        self.pauses = checked.listed(checked.part(value, "paused"), _pause)

    def take_profile(self, value: dict[str, Any], body: bytes) -> None:
        """Take a profile as it is."""
        kind, call = checked.text(value.get("kind", "")), value.get("call")
        if call is not None:
            checked.integer(call, 0, MOST_ID)
        data = {k: v for k, v in value.items() if k not in ("kind", "call")}
        self.profiles.append(Profile(kind, call, data, body))

    def take_remarks(self, value: dict[str, Any], body: bytes) -> None:
        """Take sentences about the file."""
        self.remarks += checked.listed(checked.part(value, "remarks"), checked.text)

    def take_end(self, value: dict[str, Any], body: bytes) -> None:
        """Take the last chunk."""
        self.taken_ns = call_values.ns(checked.part(value, "taken_ns"))

    def trace(self, file: str) -> Trace:
        """Return the calls of the file as a trace; may be called once.

        Parameters
        ----------
        file
            Its name.
        """
        return _trace(self, file)


def _pause(value: Any) -> Pause:
    start_ns, duration_ns = checked.row(value, 2)
    return Pause(call_values.ns(start_ns), call_values.ns(duration_ns))


def _trace(contents: RunContents, file: str) -> Trace:
    rows = {id: row for row, id in enumerate(sorted(contents.calls))}
    lost = _lost(contents)
    spans = tuple(_span(contents, id, rows) for id in rows)
    taken_ns = contents.taken_ns
    return Trace(
        contents.run,
        _title(contents, spans),
        contents.request_id,
        tuple(contents.models),
        spans,
        _last_ns(spans) if taken_ns is None else taken_ns,
        contents.folded,
        file,
        (*contents.remarks, *lost),
        _gaps(contents.gaps, rows),
        clock=contents.clock,
        pauses=contents.pauses,
        profiles=tuple(contents.profiles),
    )


def _span(contents: RunContents, id: int, rows: Mapping[int, int]) -> Span:
    # Taken out: the facts of a call are not needed beside its span.
    facts = dict(zip(FACTS, contents.calls.pop(id), strict=True))
    responses = tuple(contents.responses.get(id, ()))
    facts["parent"] = rows.get(facts["parent"], -1)
    facts["response_count"] = max(facts["response_count"], len(responses))
    if contents.taken_ns is None and not facts["request_end_ns"]:
        facts["flags"] |= CallFlag.RUNNING
    return Span(index=rows[id], id=id, responses=responses, **facts)


def _title(contents: RunContents, spans: Sequence[Span]) -> str:
    if contents.title is not None:
        return contents.title
    return contents.models[spans[0].model].name if spans else ""


def _last_ns(spans: Sequence[Span]) -> int:
    """Return the last time of calls that were not written to their end."""
    times = (ns for span in spans for _, ns in span.events)
    sent = (event.ns for span in spans for event in span.responses)
    return max(max(times, default=0), max(sent, default=0))


def _gaps(gaps: Sequence[FileGap], rows: Mapping[int, int]) -> tuple[Gap, ...]:
    known = [gap for gap in gaps if gap.caller < 0 or gap.caller in rows]
    return tuple(
        Gap(rows.get(gap.caller, -1), gap.model, gap.after, gap.calls) for gap in known
    )


def _lost(contents: RunContents) -> list[str]:
    """Say what refers to calls that the file does not contain."""
    calls = contents.calls
    parents = [facts[0] for facts in calls.values() if facts[0] >= 0]
    orphans = sum(parent not in calls for parent in parents)
    sent = sum(len(e) for id, e in contents.responses.items() if id not in calls)
    found = []
    if orphans:
        found.append(
            f"The file does not contain the callers of {orphans:,} of its calls: they "
            "are shown as client requests."
        )
    if sent:
        found.append(f"The file does not contain the calls of {sent:,} responses.")
    return found
