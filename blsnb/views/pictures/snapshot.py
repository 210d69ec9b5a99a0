"""The picture of a run as SVG, for readers without scripts."""

from __future__ import annotations

from collections import Counter

from blsnb.printable import counted
from blsnb.trace.comparison import AnyTrace, sides
from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Trace
from blsnb.views.callgraph import call_graph
from blsnb.views.columns import columns_of
from blsnb.views.format import clip, width
from blsnb.views.pictures import graph_picture, svg
from blsnb.views.pictures.layout import lay_out
from blsnb.views.pictures.timeline_picture import AXIS, ROW, TimelinePicture
from blsnb.views.rows import CallRow, rows
from blsnb.views.summary import State, facts, heading, own_times, state_of

WIDTH = 960.0
_HEAD = 36.0
_MAX_ROWS = 32
_MIN_TITLE = 90.0
_FACT_GAP = 14
_LEGEND = (("queue", 5), ("input", 9), ("infer", 9), ("output", 9))
_DOTS = {"error": "error", "running": "running", "done": "output", "cancelled": "fg3"}
_LINE = svg.COLOURS["line"]


def snapshot(run: AnyTrace, state: State | None = None) -> str:
    """Return the picture of a run or a comparison: title, call graph, timeline.

    Parameters
    ----------
    state
        State of the run, if it cannot be derived from its calls.
    """
    trace, comparison = sides(run)
    own = own_times(comparison) if comparison else None
    shown, hidden = visible_rows(list(rows(run)))
    graph = call_graph(trace)
    layout = lay_out(graph, WIDTH)
    foot = _HEAD + layout.height + 34
    height = foot + AXIS + ROW * len(shown) + (20 if hidden else 0) + 10
    title = _title(trace, state or state_of(trace), facts(run), bool(comparison))
    parts = [
        svg.rect(0.5, 0.5, WIDTH - 1, height - 1, "card", rx=8, stroke=_LINE),
        svg.rect(1, _HEAD, WIDTH - 2, foot - _HEAD, "bg2"),
        svg.tag("path", d=f"M0 {svg.number(foot)}h{WIDTH:.0f}", stroke=_LINE),
        title if comparison else title + _legend(),
        graph_picture.draw(graph, layout, _HEAD + 12, own),
        graph_picture.legend(graph, foot - 12),
        TimelinePicture(run, WIDTH).draw(shown, foot),
    ]
    if hidden:
        words = f"… {counted(hidden, 'more row')}"
        parts.append(svg.text(14, height - 14, words, fill=svg.COLOURS["fg2"]))
    return _picture("".join(parts), height)


def _picture(inner: str, height: float) -> str:
    return svg.tag(
        "svg",
        graph_picture.markers(inner) + inner,
        xmlns="http://www.w3.org/2000/svg",
        width=WIDTH,
        height=height,
        viewBox=f"0 0 {WIDTH:.0f} {svg.number(height)}",
        font_family=svg.FONT,
        font_size=12,
        fill=svg.COLOURS["fg"],
    )


def visible_rows(found: list[CallRow]) -> tuple[list[CallRow], int]:
    """Return the rows that fit, upper levels first, and the number of the others."""
    per_depth = Counter(row.depth for row in found)
    deepest = total = 0
    for depth in sorted(per_depth):
        total += per_depth[depth]
        if total > _MAX_ROWS:
            break
        deepest = depth
    shown = [row for row in found if row.depth <= deepest]
    if len(shown) < _MAX_ROWS // 4:
        shown = [row for row in found if row.depth <= deepest + 1]
    shown = shown[:_MAX_ROWS]
    return shown, len(found) - len(shown)


def _title(trace: Trace, state: State, words: list[str], compared: bool) -> str:
    """Draw the title line; a comparison has no legend, which leaves room for facts."""
    if state in ("running", "cancelled"):
        words = [state, *words]
    needed = sum(_FACT_GAP + width(each, 12) for each in words) if compared else 0.0
    most = 240.0 if compared else 330.0
    room = max(_MIN_TITLE, min(most, WIDTH - 44 - needed))
    title = clip(heading(trace), 13, room, bold=True)
    line = svg.tspan(title, font_weight="600", font_size=13)
    for each in words:
        failed = each.endswith(("error", "errors"))
        colour = svg.COLOURS["error" if failed else "fg2"]
        line += svg.tspan(each, dx=_FACT_GAP, fill=colour)
    failing = state == "done" and bool(columns_of(trace).has(CallFlag.ERROR).any())
    colour = svg.COLOURS[_DOTS["error" if failing else state]]
    dot = svg.tag("circle", cx=18, cy=19, r=4, fill=colour)
    return dot + svg.tag("text", line, x=30, y=24)


def _legend() -> str:
    parts = []
    for number, (phase, height) in enumerate(_LEGEND):
        x = WIDTH - 262 + 64 * number
        parts.append(svg.rect(x, 20 - height / 2, 12, height, phase, rx=1.5))
        parts.append(svg.small(x + 16, 24, phase))
    return "".join(parts)
