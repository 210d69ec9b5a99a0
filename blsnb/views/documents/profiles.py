"""The samples of a run for the page: a tree of lines within a budget.

The counterpart of js/src/trace/profile.ts.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from blsnb.errors import TraceError
from blsnb.trace.profiles.lines import TimedLine, lines_of
from blsnb.trace.profiles.run_profile import profile_of
from blsnb.trace.profiles.samples import SampleProfile, StackFrame
from blsnb.trace.spans import Trace
from blsnb.views.documents.buffer import Buffer
from blsnb.views.documents.numbering import Numbering
from blsnb.views.format import sendable

MAX_NODES = 2_000
"""Maximum number of lines of all stacks; those with fewest samples are left out, and
their samples belong to the lines that called them."""
MAX_ROWS = 10_000
"""Maximum number of stacks of single calls; calls with few samples are left out."""
MAX_LINES = 500
"""Maximum number of timed lines."""
_MAX_TEXT = 120
_TOP = StackFrame("", "", 0)
"""The root of a model's tree."""

T = TypeVar("T")
_Node = tuple[int, str, StackFrame]
"""Number of the caller's node, name of the model, line."""


def profile_header(
    trace: Trace, numbering: Numbering, buffer: Buffer
) -> dict[str, Any]:
    """Return the samples of a run; their numbers go to the buffer.

    Empty for a run without samples.
    """
    profile = _unless_damaged(profile_of, trace)
    if profile is None:
        return {}
    tree = _Tree(profile.samples)
    frames: dict[StackFrame, int] = {}
    parents = [parent for parent, _, _ in tree.nodes]
    lines = [frames.setdefault(frame, len(frames)) for _, _, frame in tree.nodes]
    models = _models(trace, numbering)
    own = [models.get(name, -1) for _, name, _ in tree.nodes]
    rows, left_out = _rows(trace, tree.by_call)
    numbers = {"parent": parents, "frame": lines, "model": own, "samples": tree.samples}
    numbers |= dict(zip(("call", "node", "count"), rows, strict=True))
    return {
        "interval_us": profile.samples.interval_ns / 1000,
        "wanted_us": profile.samples.wanted_ns / 1000,
        "frames": list(map(_frame, frames)),
        "columns": {
            name: buffer.add_column(np.array(values, np.int32), "i4")
            for name, values in numbers.items()
        },
        "left_out": left_out,
        "merged": tree.merged,
    }


def lines_header(trace: Trace) -> dict[str, Any]:
    """Return the timed lines of a run by call id; empty for a run without."""
    profile = _unless_damaged(lines_of, trace)
    if profile is None:
        return {}
    left = MAX_LINES
    files = []
    for file, lines in profile.shown():
        rows = list(map(_line, lines[:left]))
        files.append([sendable(file, _MAX_TEXT), rows])
        left -= len(rows)
    return {str(profile.call): files}


def _unless_damaged(read: Callable[[Trace], T | None], trace: Trace) -> T | None:
    """Return a profile of a run; None if it is damaged, as the rest can be shown."""
    try:
        return read(trace)
    except TraceError:
        return None


def _line(line: TimedLine | None) -> list[Any] | None:
    if line is None:
        return None
    place, text = sendable(line.place, _MAX_TEXT), sendable(line.text, _MAX_TEXT)
    return [place, line.hits, 1000 * line.ms, 1000 * line.calls_ms, text]


class _Tree:
    """The stacks of a profile as a tree; only its thickest branches are kept."""

    def __init__(self, profile: SampleProfile) -> None:
        nodes: dict[_Node, int] = {}
        own: Counter[int] = Counter()
        by_call: dict[int, Counter[int]] = {}
        for call, model, stack, count in profile.samples:
            node = -1
            for frame in (_TOP, *stack):
                key = (node, model, frame)
                node = nodes.setdefault(key, len(nodes))
            own[node] += count
            by_call.setdefault(call, Counter())[node] += count
        kept = _kept(list(nodes), own)
        self.nodes: list[_Node] = []
        """The kept nodes; callers precede their callees."""
        for number, (parent, model, frame) in enumerate(nodes):
            if kept[number] == len(self.nodes):
                self.nodes.append((kept[parent] if parent >= 0 else -1, model, frame))
        self.merged = len(nodes) - len(self.nodes)
        """Number of lines that are left out."""
        self.samples = [0] * len(self.nodes)
        """Samples of each node itself."""
        for node, count in own.items():
            self.samples[kept[node]] += count
        self.by_call = {call: _merged(counts, kept) for call, counts in by_call.items()}
        """Samples of the kept nodes, by call."""


def _kept(nodes: list[_Node], own: Mapping[int, int]) -> list[int]:
    """Return the new number of each node, or that of its nearest kept caller."""
    totals = [own.get(node, 0) for node in range(len(nodes))]
    for node in range(len(nodes) - 1, -1, -1):
        parent = nodes[node][0]
        if parent >= 0:
            totals[parent] += totals[node]
    # A caller has at least the samples of its callees, and a lower number.
    order = sorted(range(len(nodes)), key=lambda node: (-totals[node], node))
    staying = set(order[:MAX_NODES])
    fresh = itertools.count()
    numbers: list[int] = []
    for node, (parent, _, _) in enumerate(nodes):
        stays = node in staying or parent < 0
        numbers.append(next(fresh) if stays else numbers[parent])
    return numbers


def _merged(counts: Mapping[int, int], kept: list[int]) -> Counter[int]:
    found: Counter[int] = Counter()
    for node, count in counts.items():
        found[kept[node]] += count
    return found


def _rows(
    trace: Trace, by_call: Mapping[int, Counter[int]]
) -> tuple[list[list[int]], int]:
    """Return call, node and count of each stack of a call, and how many do not fit.

    Calls with most samples come first.
    """
    rows: list[tuple[int, int, int]] = []
    known = [call for call in by_call if trace.row_of(call) >= 0]
    known.sort(key=lambda call: -by_call[call].total())
    for shown, call in enumerate(known):
        if len(rows) + len(by_call[call]) > MAX_ROWS:
            return _columns(rows), len(known) - shown
        rows += [(call, node, count) for node, count in by_call[call].items()]
    return _columns(rows), 0


def _columns(rows: list[tuple[int, int, int]]) -> list[list[int]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[], [], []]


def _models(trace: Trace, numbering: Numbering) -> dict[str, int]:
    numbers = numbering.of_models(trace)
    return {
        model.name: number for model, number in zip(trace.models, numbers, strict=True)
    }


def _frame(frame: StackFrame) -> list[Any]:
    function, file, line, is_own = frame
    texts = sendable(function, _MAX_TEXT), sendable(file, _MAX_TEXT)
    return [*texts, line, int(is_own)]
