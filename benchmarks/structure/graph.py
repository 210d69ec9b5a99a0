"""Circles and paths of a directed graph, given as the successors of each node."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Edges = Mapping[str, set[str]]


def circles(edges: Edges) -> list[list[str]]:
    """Return the sets of nodes that reach each other, largest first, each sorted."""
    components = _components(edges)
    tied = [sorted(part) for part in components if len(part) > 1]
    return sorted(tied, key=lambda part: (-len(part), part))


def _components(edges: Edges) -> list[list[str]]:
    """Return the strongly connected components (Kosaraju, without recursion)."""
    nodes = sorted({*edges, *(node for ends in edges.values() for node in ends)})
    back: dict[str, set[str]] = {}
    for start, ends in edges.items():
        for end in ends:
            back.setdefault(end, set()).add(start)
    seen: set[str] = set()
    finished = [node for start in nodes for node in _finish(start, edges, seen)]
    seen.clear()
    return [_finish(node, back, seen) for node in reversed(finished)]


def _finish(start: str, edges: Edges, seen: set[str]) -> list[str]:
    """Return the unseen nodes that a node reaches, in the order they are left."""
    if start in seen:
        return []
    seen.add(start)
    order, stack = [], [(start, iter(sorted(edges.get(start, ()))))]
    while stack:
        ends = stack[-1][1]
        following = next((end for end in ends if end not in seen), None)
        if following is None:
            order.append(stack.pop()[0])
        else:
            seen.add(following)
            stack.append((following, iter(sorted(edges.get(following, ())))))
    return order


def shortest_path(edges: Edges, start: str, is_end: Callable[[str], bool]) -> list[str]:
    """Return a shortest path to the first end; empty without a path."""
    paths = [[start]]
    seen = {start}
    for path in paths:
        for end in sorted(edges.get(path[-1], set()) - seen):
            if is_end(end):
                return [*path, end]
            seen.add(end)
            paths.append([*path, end])
    return []


def folded(edges: Edges, name: Callable[[str], str]) -> dict[str, set[str]]:
    """Return the graph of groups of nodes, without the edges inside a group."""
    groups: dict[str, set[str]] = {}
    for start, ends in edges.items():
        outside = {name(end) for end in ends} - {name(start)}
        groups.setdefault(name(start), set()).update(outside)
    return groups
