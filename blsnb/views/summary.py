"""A comparison in numbers and words: what pictures, tables and text say alike."""

from __future__ import annotations

from blsnb.trace.changes import CallChange
from blsnb.trace.comparison import TraceComparison
from blsnb.views import callgraph
from blsnb.views.columns import columns_of
from blsnb.views.delta import Delta
from blsnb.views.format import counted, time, visible

_MOST_TEXT = 160


def counts(comparison: TraceComparison) -> list[str]:
    """Return how many calls are changed, new, missing, and not compared."""
    alignment = comparison.alignment
    numbers = {
        "changed": len(comparison.changes),
        "new": len(alignment.new),
        "missing": len(alignment.missing),
    }
    found = [f"{number:,} {what}" for what, number in numbers.items() if number]
    unknown = sum(map(len, comparison.unknown.values()))
    if not unknown:
        return found or ["no call changed"]
    return [*(found or ["no change known"]), f"{unknown:,} not compared"]


def versus(comparison: TraceComparison) -> str:
    """Return what the run is compared with."""
    return f"vs {time(columns_of(comparison.baseline).wall_us)} baseline"


def own_times(comparison: TraceComparison) -> dict[int, Delta | None]:
    """Return each model's own time beside that before; None for a model that is new."""
    before = callgraph.own_times(comparison.baseline, columns_of(comparison.baseline))
    graph = callgraph.call_graph(comparison.this, columns_of(comparison.this))
    found: dict[int, Delta | None] = {}
    for box in graph.boxes:
        # The box of all others stands for models that may be other ones.
        name = comparison.this.models[box.model].name if box.model >= 0 else ""
        own = before.get(name)
        found[box.model] = None if own is None else Delta(box.own_us, own)
    return found


def told(change: CallChange) -> list[str]:
    """Return a line for each difference of a call."""
    lines = []
    if change.error is not None:
        now, before = (_short(text) for text in change.error)
        lines.append(f"error: {now or 'none'}; before: {before or 'none'}")
    if change.responses is not None:
        now_count, before_count = change.responses
        lines.append(f"{counted(now_count, 'response')}, before {before_count:,}")
    for each in change.tensors:
        number = f" #{each.response + 1}" if each.response else ""
        name = f"{each.role} {each.difference.name}{number}"
        lines.append(_short(f"{name}: {each.difference.words}"))
    return lines


def _short(text: str) -> str:
    line = visible(text.strip().split("\n", 1)[0])
    return line if len(line) <= _MOST_TEXT else line[: _MOST_TEXT - 1] + "…"
