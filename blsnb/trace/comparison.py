"""A trace beside an earlier one, its baseline: their calls and the differences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from blsnb.tensors.difference import TensorDifference, difference
from blsnb.tensors.ref import TensorRef
from blsnb.trace.alignment import Alignment, align
from blsnb.trace.dropped import lost, missing_values
from blsnb.trace.excerpt import page_excerpt
from blsnb.trace.spans import Span, Trace

_Key = tuple[str, int]
RUNNING = "still running"
NAMES = ("request_id", "correlation_id")
"""Fields that only identify a request, and are not compared."""
UNRECORDED = "tensors were not recorded"
_REPOSITORY = re.compile(r"^  /(?:[^/\n]+/)*(?=[^/\n]+/\d+/[^\n]+\(\d+\): )", re.M)
"""The folder of a model repository, in a line of an error text with a frame."""


@dataclass(frozen=True, slots=True)
class TensorChange:
    """A tensor that differs from that of the baseline."""

    role: str
    """``"input"`` or ``"output"``."""
    response: int
    """Number of the response, counted from 0."""
    difference: TensorDifference


class RequestChange(NamedTuple):
    """A field of a request, or a parameter of a response, that differs."""

    name: str
    """Name of the option of ``infer``, and of the custom parameter."""
    this: str
    """The value as text; empty for none."""
    baseline: str


@dataclass(frozen=True, slots=True)
class CallChange:
    """The differences of a call that both runs have."""

    call: int
    """Its id."""
    baseline: int
    """Id of its counterpart in the baseline."""
    tensors: tuple[TensorChange, ...]
    error: tuple[str, str] | None
    """Error texts of the run and the baseline, if they differ; empty for no error."""
    responses: tuple[int, int] | None = None
    """Numbers of responses of the run and the baseline, if they differ."""
    not_compared: int = 0
    """Number of tensors that could not be compared, since values are not kept."""
    request: tuple[RequestChange, ...] = ()
    """Fields of its request and parameters of its responses that differ."""
    unknown: str = ""
    """Why it was not compared in full; empty if it was."""

    def __bool__(self) -> bool:
        """Whether any difference is known."""
        said = any(change.name not in NAMES for change in self.request)
        return bool(self.tensors or self.error or self.responses or said)


def change_of(alignment: Alignment, row: int, baseline: int) -> CallChange:
    """Compare a call with its counterpart, both by position."""
    this, before = alignment.this.spans[row], alignment.baseline.spans[baseline]
    if this.running or before.running:
        return CallChange(this.id, before.id, (), None, unknown=RUNNING)
    known = this.has_tensors and before.has_tensors
    compared = list(_tensors(this, before)) if known else []
    gone = sum(change.difference.change == "unknown" for change in compared)
    lossy = alignment.this if lost(this) else alignment.baseline
    # A span opened by model code has no tensors; a rejected call may have none.
    may_lack = alignment.this.models[this.model].kind == "span"
    may_lack = may_lack or bool(this.error or before.error)
    counts = this.response_count, before.response_count
    return CallChange(
        this.id,
        before.id,
        tuple(change for change in compared if change.difference),
        next(_differing_errors(this, before), None),
        None if counts[0] == counts[1] else counts,
        gone,
        tuple(_requests(this, before)),
        missing_values(lossy) if gone else "" if known or may_lack else UNRECORDED,
    )


def _differing_errors(this: Span, baseline: Span) -> Iterator[tuple[str, str]]:
    for here, there in _errors(this, baseline):
        # Each server has its own folder for the same file of a model.
        if here != there and _REPOSITORY.sub("", here) != _REPOSITORY.sub("", there):
            yield here, there


def _errors(this: Span, baseline: Span) -> Iterator[tuple[str, str]]:
    """Yield pairs of errors: of the call, and of the responses that both have."""
    yield this.error, baseline.error
    before = {response.number: response.error for response in baseline.responses}
    for response in this.responses:
        yield response.error, before.get(response.number, response.error)


def _requests(this: Span, baseline: Span) -> Iterator[RequestChange]:
    here, there = _said(this), _said(baseline)
    if here != there:
        for name in dict.fromkeys([*here, *there]):
            pair = here.get(name, ""), there.get(name, "")
            if pair[0] != pair[1]:
                yield RequestChange(name, *pair)


def _said(span: Span) -> dict[str, str]:
    options = span.request_fields.options
    said = _parameters("parameter", options.pop("parameters", {}).items())
    said |= _parameters("response parameter", span.response_parameters)
    for response in span.responses:
        if response.parameters:
            number = f"response {response.number + 1} parameter"
            said |= _parameters(number, response.parameters)
    return {name: repr(value) for name, value in options.items()} | said


def _parameters(what: str, pairs: Iterable[tuple[str, Any]]) -> dict[str, str]:
    return {f"{what} {name}": repr(value) for name, value in pairs}


def _tensors(this: Span, baseline: Span) -> Iterator[TensorChange]:
    yield from _paired("input", 0, this.inputs, baseline.inputs)
    # A failed call has no outputs.
    if not this.error and not baseline.error:
        yield from _paired("output", 0, this.outputs, baseline.outputs)
    before = {response.number: response for response in baseline.responses}
    for response in this.responses:
        # The number of responses shows that a stream is longer or shorter.
        if response.number in before:
            there = before[response.number].outputs
            yield from _paired("output", response.number, response.outputs, there)


def _paired(
    role: str, response: int, this: Iterable[TensorRef], baseline: Iterable[TensorRef]
) -> Iterator[TensorChange]:
    here, there = _named(this), _named(baseline)
    for key in dict.fromkeys([*here, *there]):
        found = difference(here.get(key), there.get(key), key[0])
        yield TensorChange(role, response, found)


def _named(refs: Iterable[TensorRef]) -> dict[_Key, TensorRef]:
    """Return tensors by name, and by number among those of the same name."""
    named: dict[_Key, TensorRef] = {}
    for ref in refs:
        occurrence = sum(name == ref.name for name, _ in named)
        named[ref.name, occurrence] = ref
    return named


class CallCounts(NamedTuple):
    """Numbers of calls that differ, with those that the traces only count."""

    changed: int
    new: int
    missing: int
    not_compared: int


@dataclass(frozen=True)
class TraceComparison:
    """The calls that two traces share, and their differences."""

    alignment: Alignment
    changes: Mapping[int, CallChange]
    """Changes by position, without calls that are unchanged as far as known."""
    unknown: Mapping[str, tuple[int, ...]]
    """Positions of shared calls that were not compared in full, by reason."""
    counts: CallCounts

    @cached_property
    def page_part(self) -> TraceComparison:
        """The part that a page can hold: all of it unless a trace is very long."""
        this, baseline = page_excerpt(self.this), page_excerpt(self.baseline)
        if this is self.this and baseline is self.baseline:
            return self
        return replace(compare(this, baseline), counts=self.counts)

    @property
    def this(self) -> Trace:
        """The trace that is compared."""
        return self.alignment.this

    @property
    def baseline(self) -> Trace:
        """The trace that it is compared with."""
        return self.alignment.baseline


AnyTrace = Trace | TraceComparison
"""A trace, alone or beside a baseline."""


def sides(run: AnyTrace) -> tuple[Trace, TraceComparison | None]:
    """Return the viewed trace, and its comparison if it has a baseline."""
    return (run, None) if isinstance(run, Trace) else (run.this, run)


def page_part(run: AnyTrace) -> AnyTrace:
    """Return the part of a run that a page can hold: all of it unless very long."""
    return page_excerpt(run) if isinstance(run, Trace) else run.page_part


def compare(this: Trace, baseline: Trace) -> TraceComparison:
    """Compare a trace with an earlier one; values are compared where both have them."""
    alignment = align(this, baseline)
    found = {pair[0]: change_of(alignment, *pair) for pair in alignment.pairs}
    unknown: dict[str, list[int]] = {}
    for row, change in found.items():
        if change.unknown:
            unknown.setdefault(change.unknown, []).append(row)
    changes = {row: change for row, change in found.items() if change}
    return TraceComparison(
        alignment,
        changes,
        {why: tuple(rows) for why, rows in unknown.items()},
        CallCounts(
            len(changes),
            alignment.new_count,
            alignment.missing_count,
            sum(map(len, unknown.values())),
        ),
    )
