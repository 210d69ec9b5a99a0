"""Ranks of a call graph, and the edges that close its cycles."""

from __future__ import annotations

from collections.abc import Iterable

from blsnb.views.callgraph import Box, CallGraph, Edge

Pair = tuple[int, int]
"""Caller and callee."""


def ranked(
    graph: CallGraph,
) -> tuple[frozenset[Pair], list[Edge], list[list[Box]]]:
    """Return the edges that point upward, those that point down, and the ranks."""
    upward = frozenset(upward_edges(graph))
    down = [e for e in graph.edges if (e.source, e.target) not in upward]
    return upward, down, _ranks(graph.boxes, down)


def upward_edges(graph: CallGraph) -> Iterable[Pair]:
    """Yield edges that close a cycle, found by depth-first search."""
    below: dict[int, list[int]] = {box.model: [] for box in graph.boxes}
    for edge in graph.edges:
        below[edge.source].append(edge.target)
    done: set[int] = set()
    open_: dict[int, None] = {}

    def walk(model: int) -> Iterable[Pair]:
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
    # The edges form no cycle, so this settles.
    moved = True
    while moved:
        moved = False
        for edge in down:
            if rank[edge.target] <= rank[edge.source]:
                rank[edge.target] = rank[edge.source] + 1
                moved = True
    ranks: list[list[Box]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for box in boxes:
        ranks[rank[box.model]].append(box)
    return ranks
