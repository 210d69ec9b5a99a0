"""The timeline, drawn: a line per row, calls as bars, folded calls as a strip."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Trace
from blsnb.views.columns import Columns
from blsnb.views.folded import OnlyCounted
from blsnb.views.format import TIMES, clip, counted, tick, ticks, time, width
from blsnb.views.pictures import svg
from blsnb.views.pictures.concurrency import merged, steps
from blsnb.views.rows import Row

ROW = 22.0
AXIS = 26.0
_NAMES = 240.0
_RIGHT = 88.0
_INDENT = 14.0
_PHASES = (
    ("queue", 1, 5.0),
    ("input", 2, 12.0),
    ("infer", 3, 12.0),
    ("output", 4, 12.0),
)
# Width of a mark of a failure: nearer ones are one.
_MARK = 6
# Pieces of all rows together, which keeps the picture under 100 kB.
_PIECES = 2400


class _Scale(NamedTuple):
    """From microseconds to pixels."""

    per_us: float

    def __call__(self, us: float) -> float:
        return _NAMES + us * self.per_us


class Timeline:
    """Draws the rows of one trace.

    Parameters
    ----------
    trace, columns
        The calls, and the same as numbers.
    names
        Of each model, the name to show.
    wide
        Width of the picture in pixels.
    until_us
        Where the axis ends; with the last call if None.
    right
        Room for what stands behind the bars.
    """

    def __init__(
        self,
        trace: Trace,
        columns: Columns,
        names: list[str],
        wide: float,
        until_us: float | None = None,
        right: float = _RIGHT,
    ) -> None:
        self._trace = trace
        self._columns = columns
        self._names = names
        self._until_us = columns.wall_us if until_us is None else until_us
        self.x = _Scale((wide - _NAMES - right) / (self._until_us or 1.0))
        self._errors = columns.has(CallFlag.ERROR)
        self._counted = OnlyCounted(trace)

    def draw(self, shown: list[Row], top: float) -> str:
        """Return axis and rows with their upper edge at ``top``."""
        pieces = pieces_of(len(shown))
        parts = [self.axis(top, AXIS + ROW * len(shown))]
        for place, row in enumerate(shown):
            middle = top + AXIS + ROW * place + ROW / 2
            parts.append(self.row(row, middle, pieces))
        return "".join(parts)

    def row(self, row: Row, middle: float, pieces: int, beside: str = "") -> str:
        """Return a row: its name, its bars, how long it took.

        Parameters
        ----------
        beside
            Stands behind the duration, drawn.
        """
        if row.folded:
            bars = self._strip(row, middle, pieces)
        else:
            bars = self._bar(row.calls[0], middle, pieces)
        return self.name(row, middle) + bars + self._duration(row, middle, beside)

    def axis(self, top: float, height: float) -> str:
        """Return round times, with lines through the rows below."""
        parts = []
        for us in ticks(self._until_us, 6):
            x = self.x(us)
            lines = (
                f"M{svg.number(x)} {svg.number(top + 20)}V{svg.number(top + height)}"
            )
            parts.append(svg.tag("path", d=lines, stroke=svg.COLOURS["line2"]))
            parts.append(
                svg.text(
                    x,
                    top + 15,
                    tick(us, self._until_us),
                    font_size=10,
                    fill=svg.COLOURS["fg2"],
                    text_anchor="middle" if us else "start",
                )
            )
        return "".join(parts)

    def name(self, row: Row, middle: float) -> str:
        """Return the name of a row's model, and what is special about its calls."""
        x = 14 + min(_INDENT * row.depth, 112)
        failed = sum(bool(self._errors[call]) for call in row.calls)
        gone = self._counted.beside(row.calls) if row.folded else None
        failed += gone.errors if gone else 0
        calls = len(row.calls) + (gone.calls if gone else 0)
        times = f" {TIMES}{calls:,}" if row.folded else ""
        room = _NAMES - 10 - x - width(times, 12)
        about = self._about(row, failed)
        kept = f"{len(row.calls):,} kept" if gone and not about else ""
        if width(self._names[row.model], 12) + width(kept, 10) + 20 < room:
            # How many are kept is said above of all; here where there is room.
            about = about or kept
        room -= (width(about, 10) + 20) * bool(about)
        name = clip(self._names[row.model], 12, max(40.0, room))
        words = svg.spelled(name)
        if times:
            words += svg.tspan(times, fill=svg.COLOURS["fg2"])
        if about:
            colour = svg.COLOURS["error" if failed else "fg2"]
            words += svg.tspan(about, dx=8, font_size=10, fill=colour)
        return svg.tag("text", words, x=x, y=middle + 4)

    def _about(self, row: Row, failed: int) -> str:
        if failed:
            return counted(failed, "error") if row.folded else "error"
        sent = sum(self._trace.spans[call].response_count for call in row.calls)
        return counted(sent, "response") if sent else ""

    def _bar(self, call: int, middle: float, pieces: int) -> str:
        columns = self._columns
        at = float(columns.start_us[call])
        # Between its steps an ensemble computes nothing.
        model = self._trace.models[self._trace.spans[call].model]
        own = "fg3" if model.is_ensemble else "infer"
        parts = [self._whisker(call, middle)]
        for place, us in enumerate(columns.phases[:, call].tolist()):
            length = us if us == us else 0.0
            for fill, phase, tall in _PHASES:
                if phase == place and length * self.x.per_us > 0.05:
                    below = self._below(call) if fill == "infer" else []
                    box = at, at + length, middle, tall
                    parts.append(self._phase(fill, box, below, pieces, own))
            at += length
        parts.append(self._notches(call, middle))
        parts.append(self._ending(call, middle))
        return "".join(parts)

    def _whisker(self, call: int, middle: float) -> str:
        x, end = (
            self.x(self._columns.start_us[call]),
            self.x(self._columns.end_us[call]),
        )
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
        """Draw a phase; what passed in calls below is a tint of it."""
        start, end, middle, tall = box
        x, length = self.x(start), max(0.6, (end - start) * self.x.per_us)
        if not below:
            return svg.rect(x, middle - tall / 2, length, tall, fill)
        own, at = [], start
        for begun, ended in [*below, (end, end)]:
            if begun - at > 0.4 / self.x.per_us:
                long = (min(begun, end) - at) * self.x.per_us
                own.append((self.x(at), middle - tall / 2, long, tall))
            at = max(at, ended)
        tint = svg.rect(x, middle - tall / 2, length, tall, fill, opacity="0.28")
        # White first: the whisker must not show through the tint.
        ground = svg.rect(x, middle - tall / 2, length, tall, "card")
        return ground + tint + svg.boxes(own[:pieces], own_fill)

    def _below(self, call: int) -> list[tuple[float, float]]:
        """Return the merged intervals in which calls made by this one ran."""
        rows = list(self._trace.children[call])
        if not rows:
            return []
        columns = self._columns
        ran = list(zip(columns.start_us[rows], columns.end_us[rows], strict=True))
        ran += self._only_counted_below(rows)
        start, end = np.array(ran, np.float64).T
        spans: list[tuple[float, float]] = []
        for step in steps(start, end):
            if spans and step.start <= spans[-1][1]:
                spans[-1] = spans[-1][0], step.end
            else:
                spans.append((step.start, step.end))
        return spans

    def _only_counted_below(self, rows: list[int]) -> list[tuple[float, float]]:
        """Return when calls ran that are only counted beside those of one caller."""
        by_model: dict[int, list[int]] = {}
        for row in rows:
            by_model.setdefault(self._trace.spans[row].model, []).append(row)
        found = map(self._counted.stretch, by_model.values())
        return [ran for ran in found if ran]

    def _notches(self, call: int, middle: float) -> str:
        span = self._trace.spans[call]
        started = float(self._columns.start_us[call])
        places = {
            round(self.x(started + (sent.ns - span.request_start_ns) / 1000))
            for sent in span.responses
        }
        lines = "".join(f"M{x} {svg.number(middle + 2.5)}v3.5" for x in sorted(places))
        return svg.tag("path", d=lines, stroke=svg.COLOURS["card"]) if lines else ""

    def _ending(self, call: int, middle: float) -> str:
        """Mark how a call ended, where it did not end well."""
        flags = int(self._columns.flags[call])
        if not flags & int(CallFlag.ERROR | CallFlag.RUNNING):
            return ""
        end = self.x(float(self._columns.end_us[call]))
        if flags & int(CallFlag.RUNNING):
            return svg.rect(end - 1, middle - 7, 2, 14, "running")
        return svg.rect(end - 1, middle - 7, 2, 14, "error") + svg.warning(
            end + 4, middle + 4
        )

    def _strip(self, row: Row, middle: float, pieces: int) -> str:
        """Draw folded calls: height and opacity say how many ran at once."""
        calls = list(row.calls)
        columns = self._columns
        found = steps(columns.start_us[calls], columns.end_us[calls])
        # Four shades are as many as one can tell apart.
        most = max((step.level for step in found), default=1)
        shades: dict[int, list[tuple[float, float, float, float]]] = {}
        for step in merged(found, pieces):
            shade = -(-4 * step.level // most)
            tall = 6.0 + 1.5 * shade
            long = max(0.6, (step.end - step.start) * self.x.per_us)
            place = (self.x(step.start), middle - tall / 2, long, tall)
            shades.setdefault(shade, []).append(place)
        parts = [
            svg.boxes(places, "infer", opacity=f"{0.3 + 0.15 * shade:.2f}")
            for shade, places in sorted(shades.items())
        ]
        beside = self._stretch(calls, middle)
        return beside + "".join(parts) + self._failures(calls, middle)

    def _stretch(self, calls: list[int], middle: float) -> str:
        """Draw when further calls ran, of which it is only known how many."""
        known = self._counted.stretch(calls)
        if known is None:
            return ""
        x, long = self.x(known[0]), (known[1] - known[0]) * self.x.per_us
        return svg.rect(x, middle - 3, long, 6, "infer", opacity="0.16")

    def _failures(self, calls: list[int], middle: float) -> str:
        failed = [call for call in calls if self._errors[call]]
        places = {round(self.x(float(self._columns.end_us[call]))) for call in failed}
        # Where one hides another one is enough, wherever it is.
        apart = {x // _MARK: x for x in places}.values()
        lines = "".join(
            f"M{x - 3} {svg.number(middle - 10)}h6l-3 4z" for x in sorted(apart)
        )
        return svg.tag("path", d=lines, fill=svg.COLOURS["error"]) if lines else ""

    def _duration(self, row: Row, middle: float, beside: str) -> str:
        calls = list(row.calls)
        end = self.x(float(self._columns.end_us[calls].max()))
        failed = not row.folded and bool(self._errors[calls[0]])
        took = float(self._columns.duration_us[calls].sum())
        if row.folded and (gone := self._counted.beside(calls)):
            took += gone.duration_ns / 1000
        words = f"{time(took)}{' total' if row.folded else ''}"
        x = end + (18 if failed else 7)
        label = svg.spelled(words) + beside
        colour = svg.COLOURS["fg2"]
        return svg.tag("text", label, x=x, y=middle + 4, font_size=10.5, fill=colour)


def pieces_of(rows: int) -> int:
    """Return into how many pieces each of so many rows may be cut."""
    return max(20, min(200, _PIECES // max(1, rows)))
