"""Layout of a call graph: callers above callees, siblings in order of first call.

Edges pass beside the boxes of the lines between their ends.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import inf
from typing import NamedTuple

from blsnb.views.callgraph import Box, CallGraph, Edge
from blsnb.views.pictures.ranks import Pair, ranked, upward_edges

BOX_WIDTH = 122.0
BOX_HEIGHT = 42.0
_GAP = 14.0
_RANK_GAP = 38.0
_LINE_GAP = 24.0
_MARGIN = 14.0
_CLEAR = 4.0
"""Minimum distance of an edge from the boxes that it passes."""
_COMFORT = 6.0
"""Additional distance where there is room."""
_APART = 3.0
"""Minimum distance of two edges that pass a line; where it is full they share a way."""
_BACK_SHIFT = 6.0
"""Distance between an edge that closes a cycle and the edge that it closes."""
_TIP = 2.0
"""Distance of an arrow's tip from its box."""

Gap = tuple[float, float]


class BoxPosition(NamedTuple):
    """Position of a box: the middle of its upper edge."""

    x: float
    y: float
    top: float
    """Upper edge of the rank; boxes in its second line are lower."""
    bottom: float
    """Lower edge of the rank."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of the boxes by model, routes of the edges, and the height."""

    places: dict[int, BoxPosition]
    height: float
    upward: frozenset[Pair]
    """Edges that close a cycle and point upward."""
    routes: dict[Pair, list[tuple[float, float]]]
    """Corners of each edge from its caller to its callee, none of a recursion's."""


def lay_out(graph: CallGraph, width: float) -> Layout:
    """Place the boxes in ranks; a rank wider than the picture zig-zags."""
    upward, down, ranks = ranked(graph)
    places: dict[int, BoxPosition] = {}
    y = 0.0
    for rank in ranks:
        desired = {box.model: _desired(box, down, places, width) for box in rank}
        ordered = sorted(rank, key=lambda box: (desired[box.model], box.first))
        y = _place_rank(ordered, desired, places, y, width)
    routes = dict(_routes(graph, upward, places, width))
    return Layout(places, max(0.0, y - _RANK_GAP), upward, routes)


def natural_width(graph: CallGraph) -> float:
    """Return the width in which each rank is one line."""
    widest = max(map(len, ranked(graph)[2]), default=1)
    return 2 * _MARGIN + BOX_WIDTH + (widest - 1) * (BOX_WIDTH + _GAP)


def side_by_side(graphs: Sequence[CallGraph], width: float) -> Layout:
    """Place graphs without common boxes beside each other, in as many lines as needed.

    A graph that is alone, or too wide, has the whole width.
    """
    if len(graphs) == 1:
        return lay_out(graphs[0], width)
    whole = Layout(
        {}, 0.0, frozenset(chain.from_iterable(map(upward_edges, graphs))), {}
    )
    left = top = height = 0.0
    for graph in graphs:
        own = min(width, natural_width(graph))
        if left and left + own > width:
            left, top, height = 0.0, height + _RANK_GAP, 0.0
        part = lay_out(graph, own)
        whole.places.update(
            (model, BoxPosition(x + left, y + top, upper + top, lower + top))
            for model, (x, y, upper, lower) in part.places.items()
        )
        whole.routes.update(
            (pair, [(x + left, y + top) for x, y in corners])
            for pair, corners in part.routes.items()
        )
        left, height = left + own, max(height, top + part.height)
    return replace(whole, height=height)


def controls(start: float, end: float) -> tuple[float, float]:
    """Return the heights of the control points of an edge from corner to corner."""
    return start + (end - start) / 2, end - (end - start) * 5 / 6


def _desired(
    box: Box, down: list[Edge], places: dict[int, BoxPosition], width: float
) -> float:
    """Return the middle of the callers of a box."""
    callers = [places[edge.source].x for edge in down if edge.target == box.model]
    return sum(callers) / len(callers) if callers else width / 2


def _place_rank(
    rank: list[Box],
    desired: dict[int, float],
    places: dict[int, BoxPosition],
    y: float,
    width: float,
) -> float:
    """Place the boxes of a rank and return the start of the next rank."""
    room = width - 2 * _MARGIN - BOX_WIDTH
    step = BOX_WIDTH + _GAP
    lines = 1
    if step * (len(rank) - 1) > room:
        # Half a box apart, so that edges pass between the boxes of a line.
        step, lines = BOX_WIDTH / 2 + 8, 2
    at_once = max(1, int(room / step) + 1)
    groups = [rank[k : k + at_once] for k in range(0, len(rank), at_once)]
    pitch = BOX_HEIGHT + _LINE_GAP
    count = sum(min(lines, len(group)) for group in groups)
    bottom = y + count * pitch - _LINE_GAP
    for number, group in enumerate(groups):
        xs = _spread([desired[box.model] for box in group], step, width)
        for k, (box, x) in enumerate(zip(group, xs, strict=True)):
            line = number * lines + k % lines
            places[box.model] = BoxPosition(x, y + line * pitch, y, bottom)
    return bottom + _RANK_GAP


def _spread(desired: list[float], step: float, width: float) -> list[float]:
    """Move ascending positions as little as needed to be a step apart.

    Isotonic regression: overlapping positions form a block around their mean, and
    overlapping blocks are joined.
    """
    blocks: list[tuple[float, int]] = []
    for k, x in enumerate(desired):
        mean, size = x - k * step, 1
        while blocks and blocks[-1][0] >= mean:
            before, count = blocks.pop()
            mean = (before * count + mean * size) / (count + size)
            size += count
        blocks.append((mean, size))
    flat = [mean for mean, size in blocks for _ in range(size)]
    low = _MARGIN + BOX_WIDTH / 2
    high = width - low - step * (len(flat) - 1)
    return [min(max(mean, low), high) + k * step for k, mean in enumerate(flat)]


def _routes(
    graph: CallGraph,
    upward: frozenset[Pair],
    places: dict[int, BoxPosition],
    width: float,
) -> Iterator[tuple[Pair, list[tuple[float, float]]]]:
    """Yield the corners of each edge: beside the boxes of every line between."""
    lines = _gaps(places.values(), width)
    for pair in ((e.source, e.target) for e in graph.edges if e.source != e.target):
        is_back = pair in upward
        upper, lower = sorted((places[model] for model in pair), key=lambda at: at.y)
        shift, above, below = (_BACK_SHIFT, _TIP, 0.0) if is_back else (0.0, 0.0, _TIP)
        corners = [(upper.x + shift, upper.y + BOX_HEIGHT + above)]
        end = lower.x + shift
        for y, gaps in lines.items():
            if upper.y < y < lower.y:
                x = _taken(gaps, corners[-1][0] if y < upper.bottom else end)
                corners += [(x, y), (x, y + BOX_HEIGHT)]
        corners.append((end, lower.y - below))
        corners = _without_straight(corners)
        yield pair, corners[::-1] if is_back else corners


def _without_straight(corners: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Leave out what is on a vertical line between its neighbours."""
    between = zip(corners, corners[1:], corners[2:], strict=False)
    bends = [at for before, at, after in between if not before[0] == at[0] == after[0]]
    return [corners[0], *bends, corners[-1]]


def _gaps(places: Iterable[BoxPosition], width: float) -> dict[float, list[Gap]]:
    """Return what is free beside the boxes of each line, from the first line down."""
    lines: dict[float, list[float]] = {}
    for place in sorted(places, key=lambda each: (each.y, each.x)):
        lines.setdefault(place.y, []).append(place.x)
    side = BOX_WIDTH / 2 + _CLEAR
    return {
        y: list(
            zip(
                [_CLEAR, *(x + side for x in xs)],
                [*(x - side for x in xs), width - _CLEAR],
                strict=True,
            )
        )
        for y, xs in lines.items()
    }


def _taken(gaps: list[Gap], wanted: float) -> float:
    """Return the free position nearest to a wanted one, which is no longer free."""

    def nearest(gap: Gap) -> float:
        low, high = gap
        inset = min(_COMFORT, (high - low) / 2)
        return min(max(wanted, low + inset), high - inset)

    after = bisect_right(gaps, (wanted, inf))
    beside = range(max(0, after - 1), min(len(gaps), after + 1))
    at = min(beside, key=lambda each: abs(nearest(gaps[each]) - wanted))
    low, high = gaps[at]
    x = nearest(gaps[at])
    halves = (low, x - _APART), (x + _APART, high)
    gaps[at : at + 1] = [half for half in halves if half[0] <= half[1]] or [(x, x)]
    return x
