"""A recorded run as a test: made again, and compared within a tolerance."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from blsnb.tensors.tolerance import Tolerance
from blsnb.trace.changes import CallChange, change_of
from blsnb.trace.comparison import TraceComparison
from blsnb.trace.dropped import find_call, missing_values
from blsnb.trace.spans import Span
from blsnb.views.format import counted

if TYPE_CHECKING:
    from blsnb.comparison import Comparison

_MOST_LINES = 20
# Of the frames in an error's text: the folder, the file's name, the line.
_FRAME = re.compile(r"^  .*/([^/()\n]+)\(\d+\): ", re.MULTILINE)


class ReplayError(AssertionError):
    """A recorded run is answered otherwise now.

    Parameters
    ----------
    message
        What is different, call by call.
    comparison
        The new run beside the recorded one.
    """

    def __init__(self, message: str, comparison: Comparison) -> None:
        super().__init__(message)
        self.comparison = comparison


def check_replay(comparison: Comparison, tolerance: Tolerance, name: str) -> None:
    """Compare what a call was answered with what was recorded.

    Parameters
    ----------
    comparison
        What `Run.replay` returned.
    name
        Of the recorded call, for the message.

    Raises
    ------
    ReplayError
        Outputs differ by more, or texts of errors, or the number of responses; or
        they cannot be compared, as a value was not recorded.
    """
    __tracebackhide__ = True
    found = _found(comparison, tolerance)
    if not found:
        return
    left_out = len(found) - _MOST_LINES
    lines = [textwrap.indent(each.strip(), "    ")[2:] for each in found[:_MOST_LINES]]
    lines += [f"  … {left_out} more"] if left_out > 0 else []
    title = f"{name} is answered otherwise than recorded ({tolerance}):"
    raise ReplayError("\n".join([title, *lines]), comparison)


def _found(comparison: Comparison, tolerance: Tolerance) -> list[str]:
    """Return a line for each difference that counts, and where it begins."""
    traces = comparison.trace
    if not traces.this.spans or traces.this.spans[0].running:
        # Its client did not get so far, or did not wait so long.
        return [f"error: {getattr(comparison.this, 'error', None) or 'not executed'}"]
    change = change_of(traces.alignment, 0, 0)
    told = list(_told(traces, change, tolerance))
    return [*told, *_origin(traces, tolerance)] if told else []


def _told(
    traces: TraceComparison, change: CallChange, tolerance: Tolerance
) -> Iterator[str]:
    """Yield a line for each difference of a call's answer that counts."""
    yield from _told_outputs(change, tolerance)
    yield from _told_error(traces, change)
    if change.responses is not None:
        now, before = change.responses
        yield f"{counted(now, 'response')}, {before:,} were recorded"
    if change.not_compared:
        outputs = counted(change.not_compared, "output")
        yield f"{outputs} not compared: {missing_values(traces.baseline)}"
    elif change.unknown:
        yield f"not compared: {change.unknown}"


def _told_outputs(change: CallChange, tolerance: Tolerance) -> Iterator[str]:
    several = any(tensor.response for tensor in change.tensors)
    for tensor in change.tensors:
        found = tolerance.beyond(tensor.difference)
        if tensor.role == "output" and found is not None:
            place = f"response {tensor.response}, " if several else ""
            yield f"{place}output {found.name!r}: {found.words}"


def _told_error(traces: TraceComparison, change: CallChange) -> Iterator[str]:
    """Yield what is different about errors: of the call, and in responses."""
    this = find_call(traces.this, change.call)
    baseline = find_call(traces.baseline, change.baseline)
    pairs = [("", _error(this), _error(baseline))]
    recorded = {each.number: _said(each.error) for each in baseline.responses}
    for each in this.responses:
        if each.number in recorded:
            place = f"response {each.number}: "
            pairs.append((place, _said(each.error), recorded[each.number]))
    for place, now, before in pairs:
        if now != before:
            yield f"{place}{now or 'no error'}\nrecorded was {before or 'no error'}"


def _error(span: Span) -> str:
    return _said(span.error, span.error_code)


def _said(text: str, code: str = "") -> str:
    """Return an error as it is wherever the files lie.

    Lines of its frames are left out, too: a comment above moves them.
    """
    where = f"error {code}".rstrip()
    return f"{where}: " + _FRAME.sub(r"  \1: ", text) if text else ""


def _origin(traces: TraceComparison, tolerance: Tolerance) -> list[str]:
    """Return the first call that answered otherwise though it was asked the same."""
    own = [
        change
        for change in traces.changes.values()
        if not any(
            tensor.role == "input" and tolerance.beyond(tensor.difference)
            for tensor in change.tensors
        )
        and next(_told(traces, change, tolerance), None)
    ]
    spans = traces.this.spans
    callers = set()
    for change in own:
        above = find_call(traces.this, change.call).parent
        while above >= 0:
            callers.add(spans[above].id)
            above = spans[above].parent
    first = min(
        (change for change in own if change.call not in callers),
        key=lambda change: change.call,
        default=None,
    )
    if first is None or first.call == spans[0].id:
        return []
    model = traces.this.models[find_call(traces.this, first.call).model].name
    told = next(_told(traces, first, tolerance))
    return [f"It begins in call {first.call} ({model}), asked the same: {told}"]
