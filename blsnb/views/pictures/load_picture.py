"""Throughput and latencies by clients or rate, as SVG that follows the page's theme."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from blsnb.printable import printable
from blsnb.views.format import time, width
from blsnb.views.pictures import diagram, svg
from blsnb.views.pictures.diagram import LABEL_SIZE, Axis, apart

_WIDTH, _HEIGHT = 720.0, 262.0
_TOP, _BOTTOM = 32.0, 192.0
_LEFT, _RIGHT = (52.0, 346.0), (418.0, 704.0)
"""Horizontal extent of the two diagrams."""
_LEGEND = _HEIGHT - 16
_MAX_MARKS = 30
"""Maximum number of levels with a mark for each."""
_FAR = 3
"""Minimum ratio of a limit to the latencies for omitting it."""
MAX_ERROR = 0.9
"""Maximum length of an error bar, as a share of the latency."""
LATENCIES = (
    ("p50_us", "p50", "infer", "", "p50_error_us"),
    ("p90_us", "p90", "input", "6 3", ""),
    ("p99_us", "p99", "queue", "2 3", "p99_error_us"),
)
"""Percentiles: key, name, colour, dashes, and the key of their error."""
_ERRORS = {key: error for key, *_, error in LATENCIES}
_FAINT = "0.16"
Rows = Sequence[Mapping[str, Any]]


class DrawnLoad(NamedTuple):
    """What is drawn.

    Parameters
    ----------
    rows
        Levels, with the fields of `benchmark.Row` as keys.
    measured
        Measurements beside the levels of a plan, one row for each.
    rate
        Requests per second that a plan has to hold; NaN for none.
    limit_us
        Limit of p99; NaN for none.
    error
        Error of simulated latencies, as a share; NaN for none.
    """

    rows: Rows
    measured: Rows = ()
    rate: float = math.nan
    limit_us: float = math.nan
    error: float = math.nan

    @property
    def is_open(self) -> bool:
        """Whether the levels are rates; otherwise they are numbers of clients."""
        return is_open(self.rows or self.measured)

    @property
    def level(self) -> str:
        """The key of the horizontal axis."""
        return "rate" if self.is_open else "concurrency"

    def half_us(self, row: Mapping[str, Any], key: str) -> float:
        """Return half of the interval in which a latency lies; 0 if unknown."""
        latency = row[key]
        half = row.get(_ERRORS.get(key, ""), 0.0)
        if self.error > 0:
            half = self.error * latency
        if not math.isfinite(latency + half):
            return 0.0
        return float(min(half, MAX_ERROR * latency))


def is_open(rows: Rows) -> bool:
    """Return whether rows are of an open loop, which has rates."""
    return bool(rows) and not math.isnan(rows[0].get("rate", math.nan))


def draw(load: DrawnLoad, words: str) -> str:
    """Return the picture of a load.

    Parameters
    ----------
    words
        What it shows, for those who cannot see it.
    """
    across = [*(row[load.level] for row in (*load.rows, *load.measured)), load.rate]
    inner = "".join(
        [
            svg.rect(0.5, 0.5, _WIDTH - 1, _HEIGHT - 1, "bg2", rx=8, stroke=_LINE),
            *_throughput(load, Axis.from_zero(*_LEFT, across)),
            *_latency(load, Axis.from_zero(*_RIGHT, across)),
            *_legend(load),
        ]
    )
    return svg.tag(
        "svg",
        svg.dark_style(inner) + inner,
        xmlns="http://www.w3.org/2000/svg",
        class_=svg.THEMED,
        style=f"width:{_WIDTH:.0f}px;max-width:100%",
        viewBox=f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}",
        font_family=svg.FONT,
        font_size=LABEL_SIZE,
        fill=svg.COLOURS["fg"],
        role="img",
        aria_label=printable(words),
    )


_LINE = svg.COLOURS["line"]


def _throughput(load: DrawnLoad, x: Axis) -> Iterator[str]:
    every = (*load.rows, *load.measured)
    y = Axis.from_zero(_BOTTOM, _TOP, [row["throughput"] for row in every])
    yield from _frame(load, x, y, "requests per second", _count)
    if load.is_open:
        # What would be answered if each request were.
        end = min(x.high, y.high)
        yield diagram.line([(0, 0), (end, end)], x, y, "fg3", "1 3")
    yield from _series(load, x, y, "throughput", "infer", "")
    for row in load.measured:
        yield diagram.diamond(x.place(row["rate"]), y.place(row["throughput"]), "infer")


def _latency(load: DrawnLoad, x: Axis) -> Iterator[str]:
    values = [
        row[key] + load.half_us(row, key)
        for row in (*load.rows, *load.measured)
        for key, *_ in LATENCIES
    ]
    most = max((each for each in values if each < math.inf), default=0.0)
    limit = load.limit_us if load.limit_us <= _FAR * most else math.nan
    y = Axis.fitting(_BOTTOM, _TOP, [*values, limit])
    title = "latency (logarithmic)" if y.is_log else "latency"
    yield from _frame(load, x, y, title, _time)
    if limit == limit:
        yield diagram.line([(x.low, limit), (x.high, limit)], x, y, "error", "6 3")
        words = f"limit of p99 {time(limit)}"
        yield svg.text(x.start + 6, y.place(limit) - 4, words, fill=_ERROR)
    for key, _, colour, dashes, _ in LATENCIES:
        yield _errors(load, x, y, key, colour)
        yield from _series(load, x, y, key, colour, dashes)
    for key, _, colour, *_ in LATENCIES:
        yield from _measured(load, x, y, key, colour)


_ERROR = svg.COLOURS["error"]


def _time(us: float) -> str:
    return time(us) if us else "0"


def _count(value: float) -> str:
    return f"{value:,g}" if value < 1e6 else f"{value:g}"


def _frame(load: DrawnLoad, x: Axis, y: Axis, title: str, label: Any) -> Iterator[str]:
    """Draw a title, the grid, and both axes with their labels."""
    yield svg.text(x.start, _TOP - 12, title, font_weight="600", font_size=11.5)
    for value in y.ticks:
        at = y.place(value)
        yield svg.rect(x.start, at - 0.5, x.end - x.start, 1, "line")
        grey = svg.COLOURS["fg2"]
        yield svg.text(
            x.start - 6, at + 3.5, label(value), text_anchor="end", fill=grey
        )
    levels = x.ticks if load.is_open else sorted({row[load.level] for row in load.rows})
    for value in apart(x, levels, _count):
        at = x.place(value)
        yield svg.rect(at - 0.5, _BOTTOM, 1, 4, "fg3")
        yield _middle(at, _BOTTOM + 16, _count(value))
    words = "requests sent per second" if load.is_open else "clients"
    yield _middle((x.start + x.end) / 2, _BOTTOM + 31, words)
    if load.rate == load.rate:
        yield diagram.line(
            [(load.rate, y.low), (load.rate, y.high)], x, y, "fg3", "6 3"
        )


def _middle(x: float, y: float, words: str) -> str:
    return svg.text(x, y, words, text_anchor="middle", fill=svg.COLOURS["fg2"])


def _series(
    load: DrawnLoad, x: Axis, y: Axis, key: str, colour: str, dashes: str
) -> Iterator[str]:
    """Draw a line through the levels; a missing value breaks it."""
    points = [(float(row[load.level]), float(row[key])) for row in load.rows]
    yield diagram.line(points, x, y, colour, dashes, stroke_width=1.6)
    if len(points) <= _MAX_MARKS:
        for across, value in points:
            if math.isfinite(value):
                place = {"cx": x.place(across), "cy": y.place(value)}
                yield svg.tag("circle", **place, r=2.5, fill=svg.COLOURS[colour])


def _errors(load: DrawnLoad, x: Axis, y: Axis, key: str, colour: str) -> str:
    """Draw the errors of a latency: as bars of few levels, or as a band."""
    known = [row for row in load.rows if load.half_us(row, key) > 0]
    ends = [
        (row[load.level], row[key] - half, row[key] + half)
        for row in known
        for half in [load.half_us(row, key)]
    ]
    places = [(x.place(at), y.place(low), y.place(high)) for at, low, high in ends]
    if len(places) < 2 or not (load.error > 0 or len(places) > _MAX_MARKS):
        return "".join(diagram.whisker(*place, colour) for place in places)
    edge = [(at, high) for at, _, high in places]
    edge += [(at, low) for at, low, _ in reversed(places)]
    outline = "L".join(f"{svg.number(at)} {svg.number(end)}" for at, end in edge)
    drawn = svg.COLOURS[colour]
    return svg.tag("path", d=f"M{outline}z", fill=drawn, fill_opacity=_FAINT)


def _measured(
    load: DrawnLoad, x: Axis, y: Axis, key: str, colour: str
) -> Iterator[str]:
    for row in load.measured:
        if math.isfinite(row[key]):
            yield diagram.diamond(x.place(row["rate"]), y.place(row[key]), colour)


def _legend(load: DrawnLoad) -> Iterator[str]:
    left = _LEFT[0]
    for words, sample in _samples(load):
        yield svg.tag("g", sample, transform=f"translate({left:.0f} {_LEGEND:.0f})")
        yield svg.small(left + 29, _LEGEND + 3.5, words)
        left += 45 + width(words, 10.5)


def _samples(load: DrawnLoad) -> Iterator[tuple[str, str]]:
    """Yield what the lines and marks mean, each with a sample."""
    if load.is_open:
        yield "all answered", diagram.stroke("M0 0h24", "fg3", "1 3")
    for _, name, colour, dashes, _ in LATENCIES:
        yield name, diagram.stroke("M0 0h24", colour, dashes, stroke_width=1.6)
    if load.rate == load.rate:
        yield "planned rate", diagram.stroke("M0 0h24", "fg3", "6 3")
    if load.error > 0:
        band = svg.rect(0, -5, 24, 10, "infer", fill_opacity=_FAINT)
        yield f"± {load.error:.0%}, calibration", band
    if load.measured:
        yield "measured", diagram.diamond(12, 0, "infer")
