"""Axes, lines and marks of diagrams."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from blsnb.views.format import ticks, width
from blsnb.views.pictures import svg

_WIDE = 10
"""Minimum ratio of values for a logarithmic axis."""
_HEADROOM = 1.08
"""End of an axis, as a multiple of its largest value."""
_STEPS = ((1, 2, 5), (1, 3), (1,))
"""Labelled multiples of the powers of ten, from many labels to few."""
_LABELS = 6
"""Maximum number of labels of an axis."""
LABEL_SIZE = 10.0


class Axis(NamedTuple):
    """Values from ``low`` to ``high`` on pixels from ``start`` to ``end``."""

    start: float
    end: float
    low: float
    high: float
    is_log: bool = False

    @classmethod
    def from_zero(cls, start: float, end: float, values: Iterable[float]) -> Axis:
        """Return a linear axis for values, from 0."""
        largest = max((each for each in values if 0 < each < math.inf), default=1.0)
        return cls(start, end, 0.0, largest * _HEADROOM)

    @classmethod
    def fitting(cls, start: float, end: float, values: Iterable[float]) -> Axis:
        """Return an axis for values; logarithmic if they differ by a large factor."""
        positive = [each for each in values if 0 < each < math.inf]
        if not positive or max(positive) <= _WIDE * min(positive):
            return cls.from_zero(start, end, positive)
        room = (max(positive) / min(positive)) ** 0.05
        return cls(start, end, min(positive) / room, max(positive) * room, True)

    def place(self, value: float) -> float:
        """Return the pixel of a value, within the axis."""
        low, high, value = (
            (math.log(max(each, self.low)) for each in (self.low, self.high, value))
            if self.is_log
            else (self.low, self.high, value)
        )
        share = (value - low) / (high - low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """Round values on the axis, ascending."""
        if not self.is_log:
            return ticks(self.high, _LABELS)
        first, last = (math.floor(math.log10(each)) for each in (self.low, self.high))
        for steps in _STEPS:
            found = [
                step * 10.0**power
                for power in range(first, last + 1)
                for step in steps
                if self.low <= step * 10.0**power <= self.high
            ]
            if len(found) <= _LABELS:
                return found
        return found[:: math.ceil(len(found) / _LABELS)]


def apart(
    axis: Axis, values: Iterable[float], label: Callable[[float], str]
) -> list[float]:
    """Return the values whose labels below an axis do not overlap those before."""
    found: list[float] = []
    end = -math.inf
    for value in values:
        half = width(label(value), LABEL_SIZE) / 2 + 3
        if axis.place(value) - half >= end:
            found.append(value)
            end = axis.place(value) + half
    return found


def line(
    points: Sequence[tuple[float, float]],
    x: Axis,
    y: Axis,
    colour: str,
    dashes: str,
    **more: svg.Value,
) -> str:
    """Return a line through values; one that is not finite breaks it."""
    pieces, letter = [], "M"
    for across, value in points:
        if not math.isfinite(value):
            letter = "M"
            continue
        pieces.append(
            f"{letter}{svg.number(x.place(across))} {svg.number(y.place(value))}"
        )
        letter = "L"
    return stroke("".join(pieces), colour, dashes, **more)


def stroke(outline: str, colour: str, dashes: str = "", **more: svg.Value) -> str:
    """Return a path in a colour of the palette."""
    if dashes:
        more["stroke_dasharray"] = dashes
    drawn = svg.COLOURS[colour]
    return svg.tag("path", d=outline, fill="none", stroke=drawn, **more)


def whisker(x: float, low: float, high: float, colour: str) -> str:
    """Return an error bar between two heights."""
    n = svg.number
    outline = f"M{n(x)} {n(low)}V{n(high)}M{n(x - 3)} {n(low)}h6M{n(x - 3)} {n(high)}h6"
    return stroke(outline, colour)


def diamond(x: float, y: float, colour: str) -> str:
    """Return a mark around a point."""
    outline = f"M{svg.number(x)} {svg.number(y - 4.5)}l4.5 4.5l-4.5 4.5l-4.5 -4.5z"
    drawn = svg.COLOURS[colour]
    inner = svg.COLOURS["card"]
    return svg.tag("path", d=outline, fill=inner, stroke=drawn, stroke_width=1.5)
