"""The timeline as SVG: a line per row, calls as bars, folded calls as a strip."""

from __future__ import annotations

from blsnb.printable import counted
from blsnb.trace.comparison import AnyTrace, sides
from blsnb.trace.events import CallFlag
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.spans import Trace
from blsnb.views.columns import Columns, columns_of
from blsnb.views.folded import OnlyCounted
from blsnb.views.format import TIMES, clip, tick, ticks, time, width
from blsnb.views.pictures import svg
from blsnb.views.pictures.call_bars import CallBars, Scale
from blsnb.views.pictures.graph_picture import colour_of
from blsnb.views.rows import CallRow, distinct_names

ROW = 22.0
AXIS = 26.0
_NAMES = 240.0
_RIGHT = 88.0
_COMPARED_RIGHT = 150.0
_INDENT = 14.0
_MAX_PIECES = 2400
"""Maximum number of boxes of all rows, which keeps a picture below 100 kB."""
_BELOW = 7.5
"""Pixels from the middle of a row down to the bars of the baseline."""
_MAX_BASELINE_BARS = 60


class TimelinePicture:
    """Draws the rows of a run; of a comparison with both traces on one axis.

    Parameters
    ----------
    wide
        Width of the picture in pixels.
    """

    def __init__(self, run: AnyTrace, wide: float) -> None:
        trace, comparison = sides(run)
        self._names = _Names(trace)
        self._columns = columns_of(trace)
        self._until_us = self._columns.wall_us
        right = _RIGHT
        self._baseline: _Baseline | None = None
        if comparison:
            self._baseline = _Baseline(comparison.baseline)
            self._until_us = max(self._until_us, self._baseline.columns.wall_us)
            right = _COMPARED_RIGHT
        self._x = Scale(_NAMES, (wide - _NAMES - right) / (self._until_us or 1.0))
        self._bars = CallBars(trace, self._x)

    def draw(self, shown: list[CallRow], top: float) -> str:
        """Return axis and rows with their upper edge at ``top``."""
        pieces = max(20, min(200, _MAX_PIECES // max(1, len(shown))))
        parts = [self._axis(top, AXIS + ROW * len(shown))]
        for number, row in enumerate(shown):
            middle = top + AXIS + ROW * number + ROW / 2
            if self._baseline and row.missing:
                parts.append(self._baseline.missing(row, middle, self._x))
            else:
                parts.append(self._row(row, middle, pieces))
        return "".join(parts)

    def _row(self, row: CallRow, middle: float, pieces: int) -> str:
        """Return a row: its name, its bars, its duration, the baseline's bars."""
        if row.folded:
            bars = self._bars.strip(list(row.calls), middle, pieces)
        else:
            bars = self._bars.bar(row.calls[0], middle, pieces)
        drawn = self._names.draw(row, middle) + bars + self._duration(row, middle)
        if self._baseline is None:
            return drawn
        return drawn + self._baseline.below(row, middle, self._x)

    def _axis(self, top: float, height: float) -> str:
        """Return round times, with lines through the rows below."""
        parts = []
        for us in ticks(self._until_us, 6):
            x = self._x(us)
            line = f"M{svg.number(x)} {svg.number(top + 20)}V{svg.number(top + height)}"
            label: dict[str, svg.Value] = {
                "font_size": 10,
                "fill": svg.COLOURS["fg2"],
                "text_anchor": "middle" if us else "start",
            }
            parts.append(svg.tag("path", d=line, stroke=svg.COLOURS["line2"]))
            parts.append(svg.text(x, top + 15, tick(us, self._until_us), **label))
        return "".join(parts)

    def _duration(self, row: CallRow, middle: float) -> str:
        calls = list(row.calls)
        failed = not row.folded and self._names.errors(row) > 0
        took_us = self._columns.took_us(calls)
        counted_only = self._names.counted_only(row)
        if counted_only:
            took_us += counted_only.duration_ns / 1000
        words = f"{time(took_us)}{' total' if row.folded else ''}"
        label = svg.spelled(words)
        if self._baseline:
            label += self._baseline.beside(row, self._columns)
        x = self._x(float(self._columns.end_us[calls].max())) + (18 if failed else 7)
        colour = svg.COLOURS["fg2"]
        return svg.tag("text", label, x=x, y=middle + 4, font_size=10.5, fill=colour)


class _Names:
    """Names of the rows of one trace, with errors and responses."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names = distinct_names(trace)
        self._errors = columns_of(trace).has(CallFlag.ERROR)
        self._counted = OnlyCounted(trace)

    def counted_only(self, row: CallRow) -> FoldedCalls | None:
        return self._counted.beside(row.calls) if row.folded else None

    def errors(self, row: CallRow) -> int:
        """Return the number of failed calls of a row that are kept."""
        return int(self._errors[list(row.calls)].sum())

    def draw(self, row: CallRow, middle: float) -> str:
        """Return the name of a row's model, and its errors or responses."""
        x = 14 + min(_INDENT * row.depth, 112)
        counted_only = self.counted_only(row)
        failed = self.errors(row) + (counted_only.errors if counted_only else 0)
        calls = len(row.calls) + (counted_only.calls if counted_only else 0)
        times = f" {TIMES}{calls:,}" if row.folded else ""
        room = _NAMES - 10 - x - width(times, 12)
        about = self._about(row, failed)
        kept = f"{len(row.calls):,} kept" if counted_only and not about else ""
        if width(self._names[row.model], 12) + width(kept, 10) + 20 < room:
            # The title has the number of kept calls; a row has it only if there is
            # room.
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

    def _about(self, row: CallRow, failed: int) -> str:
        if failed:
            return counted(failed, "error") if row.folded else "error"
        sent = sum(map(self._trace.column("response_count").__getitem__, row.calls))
        return counted(sent, "response") if sent else ""


class _Baseline:
    """Draws the calls of a baseline, below those of the run or in separate rows."""

    def __init__(self, trace: Trace) -> None:
        self.columns = columns_of(trace)
        self._names = _Names(trace)

    def below(self, row: CallRow, middle: float, x: Scale) -> str:
        """Return thin bars below the corresponding calls of the run."""
        bars = self._boxes(row.baseline, middle + _BELOW, 2.5, x)
        return svg.boxes(bars, "fg3", opacity="0.7")

    def beside(self, row: CallRow, this: Columns) -> str:
        """Return the difference of a row's durations; "" if it is small."""
        delta = row.delta(this, self.columns)
        if delta is None:
            return _difference("new", "new") if row.is_new else ""
        return "" if delta.sign == "≈" else _difference(delta.sign, delta.words)

    def missing(self, row: CallRow, middle: float, x: Scale) -> str:
        """Return a row of hollow bars for calls that the run lacks."""
        outlines = [
            svg.rect(*box, "card", stroke=svg.COLOURS["fg3"], stroke_dasharray="2 2")
            for box in self._boxes(row.calls, middle - 4, 8.0, x)
        ]
        end = x(float(self.columns.end_us[list(row.calls)].max()))
        words = f"missing, {time(self.columns.took_us(row.calls))}"
        label = svg.small(end + 7, middle + 4, words)
        return self._names.draw(row, middle) + "".join(outlines) + label

    def _boxes(
        self, calls: tuple[int, ...], top: float, height: float, x: Scale
    ) -> list[tuple[float, float, float, float]]:
        boxes = []
        for call in calls[:_MAX_BASELINE_BARS]:
            start = x(float(self.columns.start_us[call]))
            end = x(float(self.columns.end_us[call]))
            boxes.append((start, top, max(1.0, end - start), height))
        return boxes


def _difference(sign: str, words: str) -> str:
    return svg.tspan(words, dx=6, fill=svg.COLOURS[colour_of(sign)])
