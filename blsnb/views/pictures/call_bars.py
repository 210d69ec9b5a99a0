"""Bars of calls in the picture: a call with its phases, folded calls as a strip."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Trace
from blsnb.views.columns import columns_of
from blsnb.views.folded import OnlyCounted
from blsnb.views.pictures import svg
from blsnb.views.pictures.concurrency import merged, periods

_PHASES = {
    1: ("queue", 5.0),
    2: ("input", 12.0),
    3: ("infer", 12.0),
    4: ("output", 12.0),
}
"""Colour and height of the phases that are drawn as boxes, by their number."""
_MARK = 6
"""Minimum distance in pixels between marks of failures."""


class Scale(NamedTuple):
    """From microseconds to pixels."""

    left: float
    per_us: float

    def __call__(self, us: float) -> float:
        """Return the position of a time."""
        return self.left + us * self.per_us


class CallBars:
    """Draws the calls of one trace."""

    def __init__(self, trace: Trace, x: Scale) -> None:
        self._trace = trace
        self._x = x
        self._columns = columns_of(trace)
        self._errors = self._columns.has(CallFlag.ERROR)
        self._counted = OnlyCounted(trace)

    def bar(self, call: int, middle: float, pieces: int) -> str:
        """Return the phases of a call in their order, its responses and its end."""
        columns = self._columns
        at = float(columns.start_us[call])
        # Between its steps an ensemble computes nothing.
        model = self._trace.models[self._trace.spans[call].model]
        own = "fg3" if model.is_ensemble else "infer"
        parts = [self._whisker(call, middle)]
        for number, us in enumerate(np.nan_to_num(columns.phases[:, call]).tolist()):
            if number in _PHASES and us * self._x.per_us > 0.05:
                fill, height = _PHASES[number]
                below = self._below(call) if fill == "infer" else []
                box = at, at + us, middle, height
                parts.append(self._phase(fill, box, below, pieces, own))
            at += us
        parts.append(self._notches(call, middle))
        parts.append(self._ending(call, middle))
        return "".join(parts)

    def _whisker(self, call: int, middle: float) -> str:
        x = self._x(self._columns.start_us[call])
        end = self._x(self._columns.end_us[call])
        line = f"M{svg.number(x)} {svg.number(middle)}H{svg.number(end)}"
        return svg.tag("path", d=line, stroke=svg.COLOURS["fg3"])

    def _phase(
        self,
        fill: str,
        box: tuple[float, float, float, float],
        below: list[tuple[float, float]],
        pieces: int,
        own_fill: str,
    ) -> str:
        """Draw a phase; time spent in its child calls is tinted."""
        start, end, middle, height = box
        x, length = self._x(start), max(0.6, (end - start) * self._x.per_us)
        if not below:
            return svg.rect(x, middle - height / 2, length, height, fill)
        own, at = [], start
        for begun, ended in [*below, (end, end)]:
            if begun - at > 0.4 / self._x.per_us:
                long = (min(begun, end) - at) * self._x.per_us
                own.append((self._x(at), middle - height / 2, long, height))
            at = max(at, ended)
        tint = svg.rect(x, middle - height / 2, length, height, fill, opacity="0.28")
        # White first: the whisker must not show through the tint.
        ground = svg.rect(x, middle - height / 2, length, height, "card")
        return ground + tint + svg.boxes(own[:pieces], own_fill)

    def _below(self, call: int) -> list[tuple[float, float]]:
        """Return the merged intervals of this call's child calls."""
        rows = list(self._trace.children[call])
        if not rows:
            return []
        columns = self._columns
        counted = np.array(self._only_counted_below(rows)).reshape(-1, 2)
        start = np.append(columns.start_us[rows], counted[:, 0])
        end = np.append(columns.end_us[rows], counted[:, 1])
        return periods(start, end)

    def _only_counted_below(self, rows: list[int]) -> list[tuple[float, float]]:
        """Return the intervals of calls that are only counted, by model."""
        by_model: dict[int, list[int]] = {}
        models = self._trace.column("model")
        for row in rows:
            by_model.setdefault(models[row], []).append(row)
        found = map(self._counted.stretch, by_model.values())
        return [ran for ran in found if ran]

    def _notches(self, call: int, middle: float) -> str:
        span = self._trace.spans[call]
        started = float(self._columns.start_us[call])
        positions = {
            round(self._x(started + (sent.ns - span.request_start_ns) / 1000))
            for sent in span.responses
        }
        lines = "".join(
            f"M{x} {svg.number(middle + 2.5)}v3.5" for x in sorted(positions)
        )
        return svg.tag("path", d=lines, stroke=svg.COLOURS["card"]) if lines else ""

    def _ending(self, call: int, middle: float) -> str:
        """Mark a call that failed or is still running."""
        flags = int(self._columns.flags[call])
        if not flags & int(CallFlag.ERROR | CallFlag.RUNNING):
            return ""
        end = self._x(float(self._columns.end_us[call]))
        if flags & int(CallFlag.RUNNING):
            return svg.rect(end - 1, middle - 7, 2, 14, "running")
        return svg.rect(end - 1, middle - 7, 2, 14, "error") + svg.warning(
            end + 4, middle + 4
        )

    def strip(self, calls: list[int], middle: float, pieces: int) -> str:
        """Return the strip of folded calls: height and opacity show concurrency."""
        columns = self._columns
        found = merged(columns.start_us[calls], columns.end_us[calls], pieces)
        # More than four shades are hard to distinguish.
        most = max((step.level for step in found), default=1)
        shades: dict[int, list[tuple[float, float, float, float]]] = {}
        for step in found:
            shade = -(-4 * step.level // most)
            height = 6.0 + 1.5 * shade
            long = max(0.6, (step.end - step.start) * self._x.per_us)
            place = (self._x(step.start), middle - height / 2, long, height)
            shades.setdefault(shade, []).append(place)
        parts = [
            svg.boxes(places, "infer", opacity=f"{0.3 + 0.15 * shade:.2f}")
            for shade, places in sorted(shades.items())
        ]
        beside = self._stretch(calls, middle)
        return beside + "".join(parts) + self._failures(calls, middle)

    def _stretch(self, calls: list[int], middle: float) -> str:
        """Draw the interval of further calls that are only counted."""
        known = self._counted.stretch(calls)
        if known is None:
            return ""
        x, long = self._x(known[0]), (known[1] - known[0]) * self._x.per_us
        return svg.rect(x, middle - 3, long, 6, "infer", opacity="0.16")

    def _failures(self, calls: list[int], middle: float) -> str:
        failed = [call for call in calls if self._errors[call]]
        ends = {round(self._x(float(self._columns.end_us[call]))) for call in failed}
        # Marks that are too close would hide each other.
        apart = {x // _MARK: x for x in ends}.values()
        lines = "".join(
            f"M{x - 3} {svg.number(middle - 10)}h6l-3 4z" for x in sorted(apart)
        )
        return svg.tag("path", d=lines, fill=svg.COLOURS["error"]) if lines else ""
