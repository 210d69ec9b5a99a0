"""A run as a matplotlib figure, for LaTeX, PDF and papers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from blsnb.printable import counted, printable
from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Trace
from blsnb.views.callgraph import CallGraph, Edge, call_graph
from blsnb.views.columns import Columns, columns_of
from blsnb.views.figures import shown_figure
from blsnb.views.folded import OnlyCounted
from blsnb.views.format import TIMES, clip, tick, time
from blsnb.views.pictures.concurrency import merged
from blsnb.views.pictures.layout import (
    BOX_HEIGHT,
    BOX_WIDTH,
    Layout,
    controls,
    lay_out,
)
from blsnb.views.pictures.snapshot import WIDTH, visible_rows
from blsnb.views.pictures.svg import COLOURS
from blsnb.views.rows import CallRow, distinct_names, rows
from blsnb.views.summary import facts, heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DPI = 100
_ROW = 22.0
_HEAD = 34.0
_AXIS = 40.0
_NAMES = 0.24
_PHASES = (("queue", 1), ("input", 2), ("infer", 3), ("output", 4))
_PIECES = 200
# Matplotlib's font has no symbols of control characters.
_CONTROLS = {code: "?" for code in range(0x2400, 0x2427)}


def plot(trace: Trace) -> Figure:
    """Draw call graph and timeline of a run."""
    columns = columns_of(trace)
    graph = call_graph(trace)
    layout = lay_out(graph, WIDTH)
    shown, hidden = visible_rows(list(rows(trace)))
    graph_height, timeline_height = layout.height + 30, _ROW * (len(shown) + 1)
    height = _HEAD + graph_height + timeline_height + _AXIS
    drawn = shown_figure.new_figure(figsize=(WIDTH / _DPI, height / _DPI), dpi=_DPI)
    above = drawn.add_axes(
        (0, (timeline_height + _AXIS) / height, 1, graph_height / height)
    )
    below = drawn.add_axes(
        (_NAMES, _AXIS / height, 1 - _NAMES, timeline_height / height)
    )
    drawn.suptitle(
        _plain("   ".join([heading(trace), *facts(trace)])),
        x=0.015,
        y=1 - 12 / height,
        ha="left",
        fontsize=10,
    )
    _draw_graph(above, graph, layout)
    _draw_timeline(below, trace, columns, shown)
    if hidden:
        below.set_xlabel(f"… {counted(hidden, 'more row')}", fontsize=8, loc="left")
    return drawn


def png(trace: Trace) -> bytes:
    """Return the figure as a PNG file."""
    return shown_figure.png(plot(trace))


def _plain(text: str) -> str:
    """Return text that matplotlib does not read as a formula."""
    return printable(text).translate(_CONTROLS).replace("$", r"\$")


def _draw_graph(axes: Axes, graph: CallGraph, layout: Layout) -> None:
    from matplotlib.patches import FancyBboxPatch

    axes.set(xlim=(0, WIDTH), ylim=(layout.height + 15, -15))
    axes.axis("off")
    _draw_edges(axes, graph, layout)
    for box in graph.boxes:
        place = layout.places[box.model]
        left = place.x - BOX_WIDTH / 2
        colour = COLOURS["error" if box.failing else "line"]
        frame = FancyBboxPatch(
            (left + 4, place.y + 4),
            BOX_WIDTH - 8,
            BOX_HEIGHT - 8,
            boxstyle="round,pad=4",
            facecolor=COLOURS["card"],
            edgecolor=colour,
        )
        axes.add_patch(frame)
        times = f"{TIMES}{box.calls:,} " if box.calls > 1 else ""
        failed = f"  {counted(box.errors, 'error')}" if box.errors else ""
        name = clip(box.name, 11, BOX_WIDTH - 10, bold=True)
        small: dict[str, Any] = {
            "fontsize": 7,
            "color": COLOURS["error" if failed else "fg2"],
        }
        axes.text(left + 7, place.y + 17, _plain(name), fontsize=8, weight="bold")
        axes.text(left + 7, place.y + 33, f"{times}{time(box.own_us)}{failed}", **small)


def _draw_edges(axes: Axes, graph: CallGraph, layout: Layout) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    for edge in graph.edges:
        target = layout.places[edge.target]
        points = _curve(edge, layout)
        codes = [Path.MOVETO, *[Path.CURVE4] * (len(points) - 1)]
        arrow = FancyArrowPatch(
            path=Path(points, codes),
            arrowstyle="-|>",
            mutation_scale=8,
            linestyle=":" if edge.streams else "--" if edge.asynchronous else "-",
            color=COLOURS["error" if edge.failing else "fg3"],
        )
        axes.add_patch(arrow)
        words = (
            f"{edge.responses:,} resp" if edge.responses else f"{TIMES}{edge.calls:,}"
        )
        if edge.responses or edge.calls > 1:
            axes.text(target.x + 4, target.y - 6, words, fontsize=7)


def _curve(edge: Edge, layout: Layout) -> list[tuple[float, float]]:
    """Return the start of an edge, and two control points and the end of each curve."""
    place, half = layout.places[edge.source], BOX_WIDTH / 2
    if edge.source == edge.target:
        right, low, high = place.x + half, place.y + BOX_HEIGHT - 8, place.y + 8
        return [(right, low), (right + 30, low), (right + 30, high), (right, high)]
    corners = layout.routes[edge.source, edge.target]
    curve = corners[:1]
    for (x, y), (to_x, to_y) in pairwise(corners):
        first, second = controls(y, to_y)
        curve += [(x, first), (to_x, second), (to_x, to_y)]
    return curve


def _draw_timeline(
    axes: Axes, trace: Trace, columns: Columns, shown: list[CallRow]
) -> None:
    names = distinct_names(trace)
    only_counted = OnlyCounted(trace)
    labels = []
    for place, row in enumerate(shown):
        gone = only_counted.beside(row.calls) if row.folded else None
        number = len(row.calls) + (gone.calls if gone else 0)
        times = f" {TIMES}{number:,}" if row.folded else ""
        name = clip(names[row.model], 12, 200)
        labels.append("   " * min(row.depth, 8) + _plain(name) + times)
        if row.folded:
            _draw_strip(axes, columns, list(row.calls), place)
        else:
            _draw_bar(axes, trace, columns, row.calls[0], place)
        calls = list(row.calls)
        took = float(columns.duration_us[calls].sum())
        words = time(took + (gone.duration_ns / 1000 if gone else 0.0))
        end = float(columns.end_us[calls].max())
        shown_time = f"  {words}{' total' if row.folded else ''}"
        axes.text(end, place, shown_time, fontsize=8, va="center", clip_on=False)
    axes.set_yticks(range(len(shown)), labels, fontsize=8, ha="left")
    axes.tick_params(axis="y", length=0, pad=_NAMES * WIDTH * 72 / _DPI - 10)
    axes.tick_params(axis="x", labelsize=8)
    axes.set(xlim=(0, (columns.wall_us or 1.0) * 1.12), ylim=(len(shown) - 0.4, -0.6))
    axes.xaxis.set_major_formatter(lambda us, _: tick(us, columns.wall_us))
    axes.grid(axis="x", color=COLOURS["line2"])
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _draw_bar(
    axes: Axes, trace: Trace, columns: Columns, call: int, place: float
) -> None:
    phases = columns.phases[:, call]
    at = float(columns.start_us[call])
    for name, number in _PHASES:
        start = at + float(sum(us for us in phases[:number] if us == us))
        us = float(phases[number])
        if us > 0:
            tint = 0.35 if name == "infer" and trace.children[call] else 1.0
            _bar(axes, [(start, us)], place, name, 0.25 if number == 1 else 0.55, tint)
    if int(columns.flags[call]) & int(CallFlag.ERROR):
        end = float(columns.end_us[call])
        axes.plot(end, place - 0.38, marker="v", color=COLOURS["error"], markersize=4)


def _draw_strip(axes: Axes, columns: Columns, calls: list[int], place: float) -> None:
    found = merged(columns.start_us[calls], columns.end_us[calls], _PIECES)
    most = max((step.level for step in found), default=1)
    for step in found:
        share = step.level / most
        span = [(step.start, step.end - step.start)]
        _bar(axes, span, place, "infer", 0.25 + 0.3 * share, 0.3 + 0.6 * share)


def _bar(
    axes: Axes,
    spans: list[tuple[float, float]],
    place: float,
    name: str,
    tall: float,
    opacity: float,
) -> None:
    options: dict[str, Any] = {"facecolors": COLOURS[name], "alpha": opacity}
    axes.broken_barh(spans, (place - tall / 2, tall), linewidth=0, **options)
