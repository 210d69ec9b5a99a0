"""The picture of a run, as SVG: what a reader without scripts sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeVar

from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Trace
from blsnb.views.callgraph import call_graph
from blsnb.views.columns import Columns, columns_of
from blsnb.views.delta import Delta
from blsnb.views.documents.wire import State, state_of
from blsnb.views.format import clip, counted, cut, time, width
from blsnb.views.pictures import graph_picture, svg
from blsnb.views.pictures.layout import lay_out
from blsnb.views.pictures.timeline_picture import AXIS, ROW, Timeline
from blsnb.views.rows import distinct_names, rows

WIDTH = 960.0
_HEAD = 36.0
_MOST_ROWS = 32
_NAME = 200
_LEAST_TITLE = 90.0
# Between the facts about a run.
_APART = 14
_LEGEND = (("queue", 5), ("input", 9), ("infer", 9), ("output", 9))
_DOTS = {"error": "error", "running": "running", "done": "output", "cancelled": "fg3"}


def snapshot(trace: Trace, state: State | None = None) -> str:
    """Return the picture of a run: title, call graph, timeline.

    Parameters
    ----------
    state
        How the run stands, where that is known better than from its calls.
    """
    columns = columns_of(trace)
    shown, hidden = visible_rows(list(rows(trace)))
    timeline = Timeline(trace, columns, distinct_names(trace), WIDTH)
    return card(
        Card(trace, columns, state or state_of(trace), summary(trace, columns)),
        lambda top: timeline.draw(shown, top),
        len(shown),
        hidden,
    )


class Card(NamedTuple):
    """What a picture is about, and what stands in its title line."""

    trace: Trace
    columns: Columns
    state: State
    facts: list[str]
    own: Mapping[int, Delta | None] | None = None
    """Of each model its own time beside that of the baseline, in a comparison."""


def card(about: Card, timeline: Callable[[float], str], shown: int, hidden: int) -> str:
    """Return a picture: title, call graph, and a timeline.

    Parameters
    ----------
    timeline
        Returns it, with its upper edge at a height.
    shown, hidden
        How many rows it has, and how many more there are.
    """
    graph = call_graph(about.trace, about.columns)
    layout = lay_out(graph, WIDTH)
    foot = _HEAD + layout.height + 34
    height = foot + AXIS + ROW * shown + (20 if hidden else 0) + 10
    parts = [
        svg.rect(0.5, 0.5, WIDTH - 1, height - 1, "card", rx=8, stroke=_LINE),
        svg.rect(1, _HEAD, WIDTH - 2, foot - _HEAD, "bg2"),
        svg.tag("path", d=f"M0 {svg.number(foot)}h{WIDTH:.0f}", stroke=_LINE),
        _head(about),
        graph_picture.draw(graph, layout, _HEAD + 12, about.own),
        graph_picture.legend(graph, foot - 12),
        timeline(foot),
    ]
    if hidden:
        words = f"… {counted(hidden, 'more row')}"
        parts.append(svg.text(14, height - 14, words, fill=svg.COLOURS["fg2"]))
    return svg.tag(
        "svg",
        svg.tag("defs", graph_picture.MARKERS) + "".join(parts),
        xmlns="http://www.w3.org/2000/svg",
        width=WIDTH,
        height=height,
        viewBox=f"0 0 {WIDTH:.0f} {svg.number(height)}",
        font_family=svg.FONT,
        font_size=12,
        fill=svg.COLOURS["fg"],
    )


_LINE = svg.COLOURS["line"]


def summary(trace: Trace, columns: Columns) -> list[str]:
    """Return the run in words: wall time, calls, models, errors."""
    models = len(set(columns.model.tolist()))
    errors = trace.error_count
    words = [
        f"{time(columns.wall_us)} wall",
        counted(trace.call_count, "call"),
        counted(models, "model"),
    ]
    if errors:
        words.append(counted(errors, "error"))
    if trace.folded:
        words.append(f"{len(trace.spans):,} kept one by one")
    return words


def heading(trace: Trace) -> str:
    """Return the run's name: what was asked, and the request's id if it has one."""
    asked = cut(trace.title, _NAME) or "no calls"
    request = cut(trace.request_id, _NAME)
    return f"{asked} · request {request}" if request else asked


class _Deep(Protocol):
    """A row of either kind."""

    @property
    def depth(self) -> int:
        """How many callers it has."""


R = TypeVar("R", bound=_Deep)


def visible_rows(found: list[R]) -> tuple[list[R], int]:
    """Return the rows that fit, upper levels first, and how many do not."""
    per_depth = Counter(row.depth for row in found)
    deepest = total = 0
    for depth in sorted(per_depth):
        total += per_depth[depth]
        if total > _MOST_ROWS:
            break
        deepest = depth
    shown = [row for row in found if row.depth <= deepest]
    if len(shown) < _MOST_ROWS // 4:
        shown = [row for row in found if row.depth <= deepest + 1]
    shown = shown[:_MOST_ROWS]
    return shown, len(found) - len(shown)


def _head(about: Card) -> str:
    state, facts = about.state, list(about.facts)
    if state in ("running", "cancelled"):
        facts.insert(0, state)
    # In a comparison the numbers need the room of the legend.
    most, told = (330.0, 0.0) if about.own is None else (240.0, _long(facts))
    room = max(_LEAST_TITLE, min(most, WIDTH - 44 - told))
    title = clip(heading(about.trace), 13, room, bold=True)
    words = svg.tspan(title, font_weight="600", font_size=13)
    for fact in facts:
        failed = fact.endswith(("error", "errors"))
        colour = svg.COLOURS["error" if failed else "fg2"]
        words += svg.tspan(fact, dx=_APART, fill=colour)
    failing = state == "done" and bool(about.columns.has(CallFlag.ERROR).any())
    colour = svg.COLOURS[_DOTS["error" if failing else state]]
    dot = svg.tag("circle", cx=18, cy=19, r=4, fill=colour)
    legend = _legend() if about.own is None else ""
    return dot + svg.tag("text", words, x=30, y=24) + legend


def _long(facts: list[str]) -> float:
    """Return how wide the numbers of a run are, one beside the other."""
    return sum(_APART + width(fact, 12) for fact in facts)


def _legend() -> str:
    parts = []
    for place, (phase, tall) in enumerate(_LEGEND):
        x = WIDTH - 262 + 64 * place
        parts.append(svg.rect(x, 20 - tall / 2, 12, tall, phase, rx=1.5))
        label: dict[str, svg.Value] = {"font_size": 10.5, "fill": svg.COLOURS["fg2"]}
        parts.append(svg.text(x + 16, 24, phase, **label))
    return "".join(parts)
