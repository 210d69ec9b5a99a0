"""Changes: what calls that two runs share were given and answered differently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from blsnb.tensors.difference import TensorDifference, difference
from blsnb.tensors.ref import TensorRef
from blsnb.trace.alignment import Alignment
from blsnb.trace.dropped import lost, missing_values
from blsnb.trace.spans import Span

_Key = tuple[str, int]
RUNNING = "still running"
UNRECORDED = "tensors were not recorded"


@dataclass(frozen=True, slots=True)
class TensorChange:
    """A tensor of a call that differs from the baseline's."""

    role: str
    """``"input"`` or ``"output"``."""
    response: int
    """Number of the response, counted from 0."""
    difference: TensorDifference


@dataclass(frozen=True, slots=True)
class CallChange:
    """What is different about a call that both runs have."""

    call: int
    """Its id."""
    baseline: int
    """Id of its counterpart in the baseline."""
    tensors: tuple[TensorChange, ...]
    error: tuple[str, str] | None
    """The error's text now and before, if they differ; empty for none."""
    responses: tuple[int, int] | None = None
    """Number of responses now and before, if they differ."""
    not_compared: int = 0
    """How many tensors could not be compared, for want of their values."""
    unknown: str = ""
    """Why not all of it was compared; empty if it was."""

    def __bool__(self) -> bool:
        """Whether anything is known to differ."""
        return bool(self.tensors or self.error or self.responses)


def change_of(alignment: Alignment, row: int, baseline: int) -> CallChange:
    """Compare a call with its counterpart; both are given by their positions."""
    this, before = alignment.this.spans[row], alignment.baseline.spans[baseline]
    if this.running or before.running:
        return CallChange(this.id, before.id, (), None, unknown=RUNNING)
    known = this.has_tensors and before.has_tensors
    compared = list(_tensors(this, before)) if known else []
    gone = sum(change.difference.change == "unknown" for change in compared)
    lossy = alignment.this if lost(this) else alignment.baseline
    # A span that a user opened has none; a call that was refused may have none.
    tells = alignment.this.models[this.model].kind == "span"
    tells = tells or bool(this.error or before.error)
    counts = this.response_count, before.response_count
    return CallChange(
        this.id,
        before.id,
        tuple(change for change in compared if change.difference),
        next((pair for pair in _errors(this, before) if pair[0] != pair[1]), None),
        None if counts[0] == counts[1] else counts,
        gone,
        missing_values(lossy) if gone else "" if known or tells else UNRECORDED,
    )


def _errors(this: Span, baseline: Span) -> Iterator[tuple[str, str]]:
    """Yield the errors of a call, and of the responses that both sent."""
    yield this.error, baseline.error
    before = {response.number: response.error for response in baseline.responses}
    for response in this.responses:
        yield response.error, before.get(response.number, response.error)


def _tensors(this: Span, baseline: Span) -> Iterator[TensorChange]:
    yield from _paired("input", 0, this.inputs, baseline.inputs)
    # One that failed has no outputs: its error says so.
    if not this.error and not baseline.error:
        yield from _paired("output", 0, this.outputs, baseline.outputs)
    before = {response.number: response for response in baseline.responses}
    for response in this.responses:
        # Of a stream that is longer or shorter, the number of responses tells.
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
    """Return tensors by name; of several with one name each by its number."""
    named: dict[_Key, TensorRef] = {}
    for ref in refs:
        occurrence = sum(name == ref.name for name, _ in named)
        named[ref.name, occurrence] = ref
    return named
