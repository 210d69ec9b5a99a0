"""Facts of a run or a comparison as text, shared by picture, table and tree."""

from __future__ import annotations

from typing import Literal

from blsnb.printable import counted, printable
from blsnb.trace.comparison import AnyTrace, CallChange, TraceComparison, sides
from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Trace
from blsnb.views import callgraph
from blsnb.views.columns import columns_of
from blsnb.views.delta import Delta
from blsnb.views.format import cut, time

State = Literal["running", "done", "error", "cancelled"]
_MAX_NAME = 200
_SIMULATED = "simulated, not measured"


def heading(trace: Trace) -> str:
    """Return the title of a run: the model, and the request's id if it has one."""
    title = cut(trace.title, _MAX_NAME) or "no calls"
    request = cut(trace.request_id, _MAX_NAME)
    return f"{title} · request {request}" if request else title


def facts(run: AnyTrace) -> list[str]:
    """Return wall time and counts of a run, and differences from its baseline."""
    trace, comparison = sides(run)
    columns = columns_of(trace)
    words = [
        *([_SIMULATED] if trace.is_simulated else []),
        f"{time(columns.wall_us)} wall",
        counted(trace.call_count, "call"),
        counted(len(set(columns.model.tolist())), "model"),
    ]
    if trace.error_count:
        words.append(counted(trace.error_count, "error"))
    if trace.pauses:
        paused_us = sum(pause.duration_ns for pause in trace.pauses) / 1e3
        words.append(f"paused {time(paused_us)} by a debugger")
    if trace.folded:
        words.append(f"{len(trace.spans):,} shown one by one")
    return [*words, *differences(comparison)] if comparison else words


def in_short(name: str, trace: Trace) -> str:
    """Return a run's name, wall time and counts in a few words."""
    failed = f", {trace.error_count} failed" if trace.error_count else ""
    simulated = f"{_SIMULATED}, " if trace.is_simulated else ""
    return (
        f"{name}: {simulated}{time((trace.end_ns - trace.start_ns) / 1000)}, "
        f"{counted(trace.call_count, 'call')}, "
        f"{counted(len(trace.models), 'model')}{failed}"
    )


def state_of(trace: Trace) -> State:
    """Return the state of a run, derived from its calls."""
    if 0 in trace.column("request_end_ns"):
        return "running"
    flags = {trace.column("flags")[row] for row in trace.roots}
    if any(each & CallFlag.CANCELLED for each in flags):
        return "cancelled"
    return "error" if any(each & CallFlag.ERROR for each in flags) else "done"


def differences(comparison: TraceComparison) -> list[str]:
    """Return the baseline's wall time, and the numbers of calls that differ."""
    counts = comparison.counts
    numbers = {
        "changed": counts.changed,
        "new": counts.new,
        "missing": counts.missing,
    }
    found = [f"{number:,} {kind}" for kind, number in numbers.items() if number]
    if not found:
        found = ["no change known" if counts.not_compared else "no call changed"]
    if counts.not_compared:
        found.append(f"{counts.not_compared:,} not compared")
    return [versus(comparison), *found]


def versus(comparison: TraceComparison) -> str:
    """Return the wall time of the baseline as text."""
    baseline = comparison.baseline
    kind = "simulated baseline" if baseline.is_simulated else "baseline"
    return f"vs {time(columns_of(baseline).wall_us)} {kind}"


def own_times(comparison: TraceComparison) -> dict[int, Delta | None]:
    """Return each model's own time beside the baseline's; None for a new model."""
    before = callgraph.own_times(comparison.baseline)
    graph = callgraph.call_graph(comparison.this)
    found: dict[int, Delta | None] = {}
    for box in graph.boxes:
        # The box of other models may contain different models in the baseline.
        name = comparison.this.models[box.model].name if box.model >= 0 else ""
        own = before.get(name)
        found[box.model] = None if own is None else Delta(box.own_us, own)
    return found


def described(change: CallChange) -> list[str]:
    """Return a line for each difference of a call."""
    lines = []
    if change.error is not None:
        now, before = map(short, change.error)
        lines.append(f"error: {now or 'none'}; before: {before or 'none'}")
    if change.responses is not None:
        now_count, before_count = change.responses
        lines.append(f"{counted(now_count, 'response')}, before {before_count:,}")
    for said in change.request:
        words = f"{said.this or 'none'}; before: {said.baseline or 'none'}"
        lines.append(short(f"{said.name}: {words}"))
    for each in change.tensors:
        number = f" #{each.response + 1}" if each.response else ""
        name = f"{each.role} {each.difference.name}{number}"
        lines.append(short(f"{name}: {each.difference.words}"))
    return lines


def short(text: str, most: int = 160) -> str:
    """Return the first line of a text, with at most ``most`` characters."""
    line = printable(text.strip().split("\n", 1)[0])
    return line if len(line) <= most else line[: most - 1] + "…"
