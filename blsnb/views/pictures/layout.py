"""Layout of a call graph: callers above callees, siblings in order of first call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from blsnb.views.callgraph import Box, CallGraph, Edge

BOX_WIDTH = 122.0
BOX_HEIGHT = 42.0
_GAP = 14.0
_RANK_GAP = 38.0
_LINE_GAP = 24.0
_MARGIN = 14.0


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
    """Positions of the boxes by model, and the height of the graph."""

    places: dict[int, BoxPosition]
    height: float
    upward: frozenset[tuple[int, int]]
    """Edges that close a cycle and point upward."""


def lay_out(graph: CallGraph, width: float) -> Layout:
    """Place the boxes in ranks; a rank wider than the picture zig-zags."""
    upward, down, ranks = _ranked(graph)
    places: dict[int, BoxPosition] = {}
    y = 0.0
    for rank in ranks:
        desired = {box.model: _desired(box, down, places, width) for box in rank}
        ordered = sorted(rank, key=lambda box: (desired[box.model], box.first))
        y = _place_rank(ordered, desired, places, y, width)
    return Layout(places, max(0.0, y - _RANK_GAP), upward)


def natural_width(graph: CallGraph) -> float:
    """Return the width in which each rank is one line."""
    widest = max(map(len, _ranked(graph)[2]), default=1)
    return 2 * _MARGIN + BOX_WIDTH + (widest - 1) * (BOX_WIDTH + _GAP)


def side_by_side(graphs: Sequence[CallGraph], width: float) -> Layout:
    """Place graphs without common boxes beside each other, in as many lines as needed.

    A graph that is alone, or too wide, has the whole width.
    """
    if len(graphs) == 1:
        return lay_out(graphs[0], width)
    places: dict[int, BoxPosition] = {}
    upward: frozenset[tuple[int, int]] = frozenset()
    left = top = height = 0.0
    for graph in graphs:
        own = min(width, natural_width(graph))
        if left and left + own > width:
            left, top, height = 0.0, height + _RANK_GAP, 0.0
        part = lay_out(graph, own)
        places |= {
            model: BoxPosition(x + left, y + top, upper + top, lower + top)
            for model, (x, y, upper, lower) in part.places.items()
        }
        upward |= part.upward
        left, height = left + own, max(height, top + part.height)
    return Layout(places, height, upward)


def _ranked(
    graph: CallGraph,
) -> tuple[frozenset[tuple[int, int]], list[Edge], list[list[Box]]]:
    """Return the edges that point upward, those that point down, and the ranks."""
    upward = frozenset(_upward(graph))
    down = [e for e in graph.edges if (e.source, e.target) not in upward]
    return upward, down, _ranks(graph.boxes, down)


def _upward(graph: CallGraph) -> Iterable[tuple[int, int]]:
    """Yield edges that close a cycle, found by depth-first search."""
    below: dict[int, list[int]] = {box.model: [] for box in graph.boxes}
    for edge in graph.edges:
        below[edge.source].append(edge.target)
    done: set[int] = set()
    open_: dict[int, None] = {}

    def walk(model: int) -> Iterable[tuple[int, int]]:
        open_[model] = None
        for target in below[model]:
            if target in open_:
                yield model, target
            elif target not in done:
                yield from walk(target)
        del open_[model]
        done.add(model)

    for box in graph.boxes:
        if box.model not in done:
            yield from walk(box.model)


def _ranks(boxes: tuple[Box, ...], down: list[Edge]) -> list[list[Box]]:
    """Put each box below all its callers, in as few ranks as possible."""
    rank = {box.model: 0 for box in boxes}
    # No path has more edges than there are boxes, so this settles.
    for _ in boxes:
        for edge in down:
            rank[edge.target] = max(rank[edge.target], rank[edge.source] + 1)
    ranks: list[list[Box]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for box in boxes:
        ranks[rank[box.model]].append(box)
    return ranks


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
