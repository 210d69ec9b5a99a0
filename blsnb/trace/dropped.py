"""Sentences about dropped calls and values, with the limits that dropped them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from blsnb.errors import TraceError
from blsnb.printable import counted
from blsnb.trace.facts import Drop
from blsnb.trace.spans import Span, Trace

PIN = "run.keep() pins a run: nothing of it is dropped from then on"
_REASONS = {
    "keep_calls": "limits the calls that are kept one by one, newest runs first",
    "trace_budget_bytes": "limits the tensor values that are kept, newest runs first",
    "keep_runs": "limits the runs that are kept, newest first",
}


def because(limit: str, setting: int) -> str:
    """Return the clause that names a limit and how to keep the data next time."""
    reason = _REASONS.get(limit, "limits what is kept")
    return f"{limit}={setting} {reason}. {PIN}"


def drop_of(trace: Trace, what: Literal["calls", "values"]) -> Drop | None:
    """Return the first drop of a trace's calls or values, if any."""
    return next((drop for drop in trace.drops if drop.what == what), None)


def notice(drop: Drop) -> str:
    """Return a short text about a drop."""
    calls = counted(drop.calls, "call")
    return f"{calls} dropped" if drop.what == "calls" else f"values of {calls} dropped"


def notices(trace: Trace) -> list[str]:
    """Return a sentence about each drop."""
    return [
        f"{notice(drop)}: {because(drop.limit, drop.setting)}." for drop in trace.drops
    ]


def was_dropped(trace: Trace, call: int) -> bool:
    """Whether a call was dropped."""
    drop = drop_of(trace, "calls")
    if drop is not None and 0 <= call <= drop.last:
        return True
    last = trace.spans[-1].id if trace.spans else -1
    return bool(trace.folded) and 0 <= call < max(last + 1, trace.call_count)


def find_call(trace: Trace, call: int) -> Span:
    """Return the call with an id.

    Raises
    ------
    TraceError
        The run has no such call, or no longer keeps it.
    """
    row = trace.row_of(call)
    if row < 0:
        raise TraceError(missing_call(trace, call))
    return trace.spans[row]


def missing_call(trace: Trace, call: int) -> str:
    """Return why a trace has no call with an id: dropped, or never made."""
    if was_dropped(trace, call):
        drop = drop_of(trace, "calls")
        if drop is not None:
            return f"call {call} is no longer kept: {because(drop.limit, drop.setting)}"
        kept = f"{len(trace.spans):,} of {trace.call_count:,} calls"
        held = f"{trace.file or 'the trace'} holds {kept}"
        return f"call {call} is only counted: {held}{_of_file(trace, 'keep_calls')}"
    if not trace.spans:
        return (
            f"the run has no call {call}: no calls were recorded. At "
            "trace_level='tensors' calls are recorded, with their inputs"
        )
    first, last = trace.spans[0].id, trace.spans[-1].id
    hint = "; a view without a selected call has -1" if call == -1 else ""
    known = f"its calls are {first} to {last}" if last > first else f"it has {first}"
    return f"the run has no call {call}; {known}{hint}"


def missing_values(trace: Trace, names: Sequence[str] = ()) -> str:
    """Return why values are missing, as the end of a sentence.

    Parameters
    ----------
    names
        The tensors, such as ``["input 'X'"]``; empty for a whole call.
    """
    one = len(names) == 1
    subject = f"the value{'' if one else 's'} of {' and '.join(names)}"
    subject, verb = (subject if names else "values"), ("is" if one else "are")
    if trace.file:
        held = f"{trace.file} does not hold {subject if names else 'the values'}"
        return held + _of_file(
            trace, "run.save(budget_bytes=...) or trace_budget_bytes"
        )
    drop = drop_of(trace, "values")
    reason = f": {because(drop.limit, drop.setting)}" if drop else f". {PIN}"
    return f"{subject} {verb} no longer kept{reason}"


def _of_file(trace: Trace, limits: str) -> str:
    """Return which limits may apply to a file of `Run.save` or of the recorder."""
    if not trace.file.lower().endswith(".blsrun"):
        return ""
    if trace.recording is not None:
        return (
            ": the recorder summarises values larger than "
            "BLSNB_RECORDER_TENSOR_BYTES and those of devices, and redacts by name"
        )
    return f": {limits} of the server limits what it holds. {PIN}"


def lost(span: Span) -> bool:
    """Whether a call has lost values of tensors."""
    return any(ref.evicted for ref in span.tensors)


def drops_of(
    spans: Iterable[Span],
    folded: int,
    keep_calls: tuple[int, int] | None,
    budget_bytes: int | None,
) -> tuple[Drop, ...]:
    """Return the drops of calls and values of a run.

    Parameters
    ----------
    spans
        The kept calls.
    folded
        Number of dropped calls.
    keep_calls
        The limit that dropped them, and the highest id at that time.
    budget_bytes
        The limit that dropped values.
    """
    found = []
    if keep_calls is not None and folded:
        limit, last = keep_calls
        found.append(Drop("calls", "keep_calls", limit, folded, last))
    count = 0 if budget_bytes is None else sum(map(lost, spans))
    if budget_bytes is not None and count:
        found.append(Drop("values", "trace_budget_bytes", budget_bytes, count))
    return tuple(found)
