"""Distributions of numbers as pictures that fit light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

import numpy as np

from blsnb.printable import counted
from blsnb.tensors.summary import bins_of
from blsnb.views.pictures.svg import FONT, number, tag

Floats = np.ndarray[Any, np.dtype[np.float64]]

_WIDTH, _HEIGHT = 300.0, 64.0
_TEXT = 14.0
"""Height of a line of text, in pixels."""
_BINS = 40
_MIN_BAR = 1.5
"""Height of a bar with a single row, in pixels: it must be visible."""
_SPREAD = 20.0
"""Ratio of the largest to the smallest value from which the axis is logarithmic."""
_BAR = "#4593e0"


class Distribution(NamedTuple):
    """Numbers to draw.

    Parameters
    ----------
    name
        Name of the quantity.
    summary
        Its statistics as text.
    values
        The numbers; NaN and infinite ones are left out.
    text
        Returns a value of the axis as text.
    """

    name: str
    summary: str
    values: Floats
    text: Callable[[float], str]


def histogram(distribution: Distribution) -> str:
    """Return a distribution as SVG: bars, the ends of the axis, the largest count."""
    values = distribution.values[np.isfinite(distribution.values)]
    if not len(values):
        return ""
    counts, is_logarithmic = _counts(values)
    low, high = float(values.min()), float(values.max())
    top = int(counts.max())
    scale = "logarithmic axis" if is_logarithmic else ""
    ends = distribution.text(low), distribution.text(high)
    label = (
        f"Distribution of {distribution.name}: {counted(len(values), 'value')} from "
        f"{ends[0]} to {ends[1]}"
    )
    texts = [
        (0.0, "start", ends[0]),
        (_WIDTH / 2, "middle", scale),
        (_WIDTH, "end", ends[1] if low != high else ""),
    ]
    below = [_text(x, _HEIGHT + _TEXT, anchor, text) for x, anchor, text in texts]
    return tag(
        "svg",
        "".join([_bars(counts, top), *below]),
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_label=label,
        width=_WIDTH,
        height=_HEIGHT + _TEXT + 4,
        font_family=FONT,
        font_size=11,
    )


def _counts(values: Floats) -> tuple[Any, bool]:
    """Return the number of values in each bin, and whether the axis is logarithmic."""
    low, high = float(values.min()), float(values.max())
    is_logarithmic = low > 0 and high / low >= _SPREAD
    if is_logarithmic:
        values = np.log(values)
        low, high = math.log(low), math.log(high)
    bins = bins_of(values, low, high, _BINS)
    return np.bincount(bins, minlength=_BINS), is_logarithmic


def _bars(counts: Any, top: int) -> str:
    step = _WIDTH / len(counts)
    path = []
    for at, count in enumerate(counts.tolist()):
        if count:
            height = max(_MIN_BAR, _HEIGHT * count / top)
            x, y = number(at * step), number(_HEIGHT - height)
            path.append(f"M{x} {number(_HEIGHT)}V{y}h{number(step - 1)}V{_HEIGHT:g}z")
    axis = tag(
        "path",
        d=f"M0 {_HEIGHT + 0.5}H{_WIDTH:g}",
        stroke="currentColor",
        opacity=0.4,
    )
    return tag("path", d="".join(path), fill=_BAR) + axis


def _text(x: float, y: float, anchor: str, text: str) -> str:
    if not text:
        return ""
    return tag("text", escape(text), x=x, y=y, text_anchor=anchor, fill="currentColor")
