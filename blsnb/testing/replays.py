"""Compare a replayed run with its recording, within a tolerance."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from blsnb.printable import counted, shortened
from blsnb.tensors.tolerance import Tolerance
from blsnb.trace.comparison import CallChange, TraceComparison, change_of
from blsnb.trace.dropped import find_call, missing_values
from blsnb.trace.spans import Span

if TYPE_CHECKING:
    from blsnb.results.comparison import Comparison

_MAX_LINES = 20
"""Maximum number of differences in an error."""
# A frame in the text of an error: folder, file name, line.
_FRAME = re.compile(r"^  .*/([^/()\n]+)\(\d+\): ", re.MULTILINE)


class ReplayError(AssertionError):
    """The responses of a replayed run differ from the recorded ones.

    Parameters
    ----------
    message
        The differences, call by call.
    comparison
        The new run beside the recorded one.
    """

    def __init__(self, message: str, comparison: Comparison) -> None:
        super().__init__(message)
        self.comparison = comparison


def check_replay(comparison: Comparison, tolerance: Tolerance, name: str) -> None:
    """Compare the responses of a replayed call with the recorded ones.

    Parameters
    ----------
    comparison
        Result of `Run.replay`.
    name
        Name of the recorded call, for the message.

    Raises
    ------
    ReplayError
        Outputs differ by more than the tolerance, or texts of errors, the numbers of
        responses or their parameters differ; or a value was not recorded.
    """
    __tracebackhide__ = True
    differences = _differences(comparison, tolerance)
    if not differences:
        return
    shown = shortened(differences, _MAX_LINES, "difference")
    lines = [textwrap.indent(each.strip(), "    ")[2:] for each in shown]
    title = f"{name} differs from its recording ({tolerance}):"
    raise ReplayError("\n".join([title, *lines]), comparison)


def _differences(comparison: Comparison, tolerance: Tolerance) -> list[str]:
    """Return a line for each difference, and one for their origin."""
    traces = comparison.trace
    if not traces.this.spans or traces.this.spans[0].running:
        # The client failed before the call, or did not wait for its end.
        return [f"error: {getattr(comparison.this, 'error', None) or 'not executed'}"]
    change = change_of(traces.alignment, 0, 0)
    lines = list(_lines(traces, change, tolerance))
    return [*lines, *_origin(traces, tolerance)] if lines else []


def _lines(
    traces: TraceComparison, change: CallChange, tolerance: Tolerance
) -> Iterator[str]:
    """Yield a line for each difference between the responses of a call."""
    yield from _output_lines(change, tolerance)
    yield from _error_lines(traces, change)
    if change.responses is not None:
        now, before = change.responses
        yield f"{counted(now, 'response')}, {before:,} recorded"
    yield from _parameter_lines(traces, change)
    if change.not_compared:
        outputs = counted(change.not_compared, "output")
        yield f"{outputs} not compared: {missing_values(traces.baseline)}"
    elif change.unknown:
        yield f"not compared: {change.unknown}"


def _output_lines(change: CallChange, tolerance: Tolerance) -> Iterator[str]:
    several = any(tensor.response for tensor in change.tensors)
    for tensor in change.tensors:
        found = tolerance.beyond(tensor.difference)
        if tensor.role == "output" and found is not None:
            place = f"response {tensor.response}, " if several else ""
            yield f"{place}output {found.name!r}: {found.words}"


def _parameter_lines(traces: TraceComparison, change: CallChange) -> Iterator[str]:
    """Yield a line for each parameter of a response that differs."""
    if traces.baseline.file and traces.baseline.clock is None:
        # Files of version 1 have neither a clock nor parameters of responses.
        return
    for each in change.request:
        if each.name.startswith("response "):
            recorded = each.baseline or "none"
            yield f"{each.name}: {each.this or 'none'}, recorded: {recorded}"


def _error_lines(traces: TraceComparison, change: CallChange) -> Iterator[str]:
    """Yield a line for each difference between errors, of the call and in responses."""
    this = find_call(traces.this, change.call)
    baseline = find_call(traces.baseline, change.baseline)
    pairs = [("", _error(this), _error(baseline))]
    recorded = {each.number: _normalised(each.error) for each in baseline.responses}
    for each in this.responses:
        if each.number in recorded:
            place = f"response {each.number}: "
            pairs.append((place, _normalised(each.error), recorded[each.number]))
    for place, now, before in pairs:
        if now != before:
            yield f"{place}{now or 'no error'}\nrecorded: {before or 'no error'}"


def _error(span: Span) -> str:
    return _normalised(span.error, span.error_code)


def _normalised(text: str, code: str = "") -> str:
    """Return an error without the folders and line numbers of its frames."""
    where = f"error {code}".rstrip()
    return f"{where}: " + _FRAME.sub(r"  \1: ", text) if text else ""


def _origin(traces: TraceComparison, tolerance: Tolerance) -> list[str]:
    """Return the first call whose response differs although its inputs agree."""
    own = [
        change
        for change in traces.changes.values()
        if not any(
            tensor.role == "input" and tolerance.beyond(tensor.difference)
            for tensor in change.tensors
        )
        and next(_lines(traces, change, tolerance), None)
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
    line = next(_lines(traces, first, tolerance))
    return [f"The first difference is in call {first.call} ({model}): {line}"]
