"""The call graph as SVG: boxes, edges and their labels."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from blsnb.views.callgraph import Box, CallGraph, Edge
from blsnb.views.delta import Delta
from blsnb.views.format import TIMES, clip, time, width
from blsnb.views.pictures import svg
from blsnb.views.pictures.layout import (
    BOX_HEIGHT,
    BOX_WIDTH,
    BoxPosition,
    Layout,
    controls,
)

_PAD = 7.0
_BAR = BOX_WIDTH - 2 * _PAD
_ASYNC, _STREAM = "5 3", "1.5 3"
_LABEL_HEIGHT = 11.0
_ON_CURVE = 0.75, 0.5, 0.9
"""Positions of labels on a curve, the best first."""
_Area = tuple[float, float, float]
"""Middle of a label, and half of its width."""

Own = Mapping[int, Delta | None]
"""Own time of each model beside the baseline's; None for a new model."""


def markers(drawing: str) -> str:
    """Return the definitions of the arrow heads that a drawing has."""
    used = [colour for colour in ("fg3", "error") if f"#to-{colour})" in drawing]
    heads = "".join(map(_marker, used))
    return svg.tag("defs", heads) if heads else ""


def _marker(colour: str) -> str:
    return svg.tag(
        "marker",
        svg.tag("path", d="M0 1 L7 4 L0 7z", fill=svg.COLOURS[colour]),
        id=f"to-{colour}",
        viewBox="0 0 8 8",
        refX="7",
        refY="4",
        markerWidth="7",
        markerHeight="7",
        orient="auto",
    )


def draw(
    graph: CallGraph,
    layout: Layout,
    top: float,
    own: Own | None = None,
    words: Mapping[int, str] | None = None,
) -> str:
    """Return the graph with its upper edge at ``top``.

    Parameters
    ----------
    own
        Own time of each model beside the baseline's, in a comparison.
    words
        The second line of boxes; the number of calls and the own time of others.
    """
    words = words or {}
    incoming = [edge.target for edge in graph.edges if edge.source != edge.target]
    parts: list[str] = []
    labels: list[str] = []
    taken: list[_Area] = []
    # The label of a recursion has one position, others keep clear of it.
    for edge in sorted(graph.edges, key=lambda edge: edge.source != edge.target):
        path, positions = _route(edge, layout, incoming)
        parts.append(_line(path, edge))
        labels.append(_label(edge, positions, taken))
    most = max((box.own_us for box in graph.boxes), default=0.0)
    parts += [
        _box(box, layout.places[box.model], most, own, words.get(box.model))
        for box in graph.boxes
    ]
    drawn = "".join(parts + labels)
    return svg.tag("g", drawn, transform=f"translate(0 {svg.number(top)})")


def _route(
    edge: Edge, layout: Layout, incoming: list[int]
) -> tuple[str, list[tuple[float, float]]]:
    """Return the path of an edge and the positions for its label, the best first."""
    n = svg.number
    pair = edge.source, edge.target
    if edge.source == edge.target:
        place = layout.places[edge.target]
        x, y = place.x + BOX_WIDTH / 2 - 30, place.y
        loop = f"M{n(x + 22)} {n(y)}c0 -20 -22 -20 -22 -1"
        return loop, [(x - 16, y - 5)]
    x1, y1 = layout.routes[pair][0]
    path = f"M{n(x1)} {n(y1)}"
    curves: list[tuple[float, float]] = []
    for (x1, y1), (x2, y2) in pairwise(layout.routes[pair]):
        first, second = controls(y1, y2)
        bend = f"C{n(x1)} {n(first)} {n(x2)} {n(second)} {n(x2)} {n(y2)}"
        path += f"V{n(y2)}" if x1 == x2 else bend
        heights = y1, first, second, y2
        curves[:0] = [(_at(t, x1, x1, x2, x2), _at(t, *heights)) for t in _ON_CURVE]
    is_shared = pair in layout.upward or incoming.count(edge.target) > 1
    return path, curves if is_shared else [(x2, y2 - 12), *curves]


def _at(t: float, start: float, first: float, second: float, end: float) -> float:
    """Return a coordinate of a Bézier curve."""
    u = 1 - t
    return u**3 * start + 3 * u * u * t * first + 3 * u * t * t * second + t**3 * end


def _line(path: str, edge: Edge) -> str:
    colour = "error" if edge.failing else "fg3"
    dash = ""
    if edge.streams:
        dash = _STREAM
    elif edge.asynchronous:
        dash = _ASYNC
    drawn = {"stroke_dasharray": dash} if dash else {}
    return svg.tag(
        "path",
        d=path,
        fill="none",
        stroke=svg.COLOURS[colour],
        stroke_width=1.2,
        marker_end=f"url(#to-{colour})",
        **drawn,
    )


def legend(graph: CallGraph, y: float) -> str:
    """Return the kinds of edges that the graph has."""
    kinds = {
        "call": ("", any(not (e.streams or e.asynchronous) for e in graph.edges)),
        "async": (_ASYNC, any(e.asynchronous and not e.streams for e in graph.edges)),
        "stream": (_STREAM, any(e.streams for e in graph.edges)),
    }
    parts, x = [], 14.0
    for words, (dash, present) in kinds.items():
        if not present:
            continue
        drawn = {"stroke_dasharray": dash} if dash else {}
        line = f"M{svg.number(x)} {svg.number(y)}h20"
        parts.append(svg.tag("path", d=line, stroke=svg.COLOURS["fg3"], **drawn))
        parts.append(svg.small(x + 25, y + 4, words))
        x += 40 + width(words, 10.5)
    return "".join(parts)


def _label(edge: Edge, positions: list[tuple[float, float]], taken: list[_Area]) -> str:
    """Return the label of an edge, clear of those before where that is possible."""
    words = f"{TIMES}{edge.calls:,}" if edge.calls > 1 else ""
    if edge.responses:
        words = f"{edge.responses:,} resp"
    if not words:
        return ""
    half = width(words, 10) / 2 + 2

    def is_clear(at: tuple[float, float]) -> bool:
        return not any(
            abs(at[0] - x) < half + other and abs(at[1] - y) < _LABEL_HEIGHT
            for x, y, other in taken
        )

    x, y = next(filter(is_clear, positions), positions[0])
    taken.append((x, y, half))
    colour = svg.COLOURS["error" if edge.failing else "fg2"]
    behind = svg.rect(x - half, y - 6, 2 * half, _LABEL_HEIGHT, "bg2")
    return behind + svg.text(
        x, y + 3, words, text_anchor="middle", font_size=10, fill=colour
    )


def _box(
    box: Box, place: BoxPosition, most: float, compared: Own | None, words: str | None
) -> str:
    left, top = place.x - BOX_WIDTH / 2, place.y
    right = place.x + BOX_WIDTH / 2 - _PAD
    border = svg.COLOURS["error" if box.failing else "line"]
    times = f"{TIMES}{box.calls:,} " if box.calls > 1 else ""
    name = clip(box.name, 11.5, BOX_WIDTH - 2 * _PAD + 4, bold=True)
    own = f"{times}{time(box.own_us)}" if words is None else words
    parts = [
        svg.rect(left, top, BOX_WIDTH, BOX_HEIGHT, "card", rx=6, stroke=border),
        svg.text(left + _PAD, top + 15, name, font_weight="600", font_size=11.5),
        svg.text(left + _PAD, top + 28, own, font_size=10, fill=svg.COLOURS["fg2"]),
        svg.rect(left + _PAD, top + 34, _BAR, 3, "line2", rx=1.5),
    ]
    if compared is None:
        room = _BAR - width(own, 10) - 4
        parts.append(_about(box, right, top + 28, room))
    else:
        # The mark of a failure is on the border, because the line has no room for it.
        mark = svg.warning(right - 4, top + 4) if box.errors else ""
        parts.append(mark + _beside(compared[box.model], right, top + 28))
    parts.append(_share(box, left + _PAD, top + 34, most))
    return "".join(parts)


_SMALL: dict[str, svg.Value] = {"font_size": 10.0, "text_anchor": "end"}


def _about(box: Box, right: float, y: float, room: float) -> str:
    """Return the number of failed calls, or the device."""
    if box.errors:
        words = f"{box.errors:,}"
        sign = svg.warning(right - width(words, 10) - 12, y)
        return sign + svg.text(right, y, words, fill=svg.COLOURS["error"], **_SMALL)
    device = clip(box.device, 10, room)
    return svg.text(right, y, device, fill=svg.COLOURS["fg2"], **_SMALL)


def _beside(delta: Delta | None, right: float, y: float) -> str:
    """Return the difference of the own time, or that the model is new."""
    words = "new" if delta is None else delta.short
    colour = svg.COLOURS[colour_of("new" if delta is None else delta.sign)]
    return svg.text(right, y, words, fill=colour, **_SMALL)


_SIGN_COLOURS = {"▲": "error", "▼": "output", "new": "infer"}


def colour_of(sign: str) -> str:
    """Return the name of the colour of a difference."""
    return _SIGN_COLOURS.get(sign, "fg2")


def _share(box: Box, x: float, y: float, most: float) -> str:
    """Draw a bar as long as the share of the largest own time."""
    total = sum(box.phases_us)
    if not total or not most:
        return ""
    scale = _BAR * min(1.0, box.own_us / most) / total
    parts = []
    own = "fg3" if box.is_ensemble else "infer"
    for fill, us in zip(("queue", "input", own, "output"), box.phases_us, strict=True):
        if us * scale >= 0.3:
            parts.append(svg.rect(x, y, us * scale, 3, fill))
        x += us * scale
    return "".join(parts)
