"""The picture of a comparison: the run's, with its baseline under every row."""

from __future__ import annotations

from blsnb.trace.comparison import TraceComparison
from blsnb.views.columns import columns_of
from blsnb.views.compared_rows import ComparedRow, compared_rows
from blsnb.views.documents.wire import state_of
from blsnb.views.format import time
from blsnb.views.pictures import svg
from blsnb.views.pictures.graph_picture import colour_of
from blsnb.views.pictures.snapshot import WIDTH, Card, card, summary, visible_rows
from blsnb.views.pictures.timeline_picture import AXIS, ROW, Timeline, pieces_of
from blsnb.views.rows import distinct_names
from blsnb.views.summary import counts, own_times, versus

_RIGHT = 150.0
_BELOW = 7.5
_TALL = 2.5
_MOST_BARS = 60


def compared_snapshot(comparison: TraceComparison) -> str:
    """Return the picture of a comparison: title, call graph, timeline."""
    this = comparison.this
    columns = columns_of(this)
    facts = [*summary(this, columns), versus(comparison), *counts(comparison)]
    about = Card(this, columns, state_of(this), facts, own_times(comparison))
    shown, hidden = visible_rows(list(compared_rows(comparison)))
    timeline = _ComparedTimeline(comparison)
    return card(about, lambda top: timeline.draw(shown, top), len(shown), hidden)


class _ComparedTimeline:
    """Draws the rows of a comparison, both runs on one axis."""

    def __init__(self, comparison: TraceComparison) -> None:
        self._columns = columns_of(comparison.this)
        self._before = columns_of(comparison.baseline)
        until_us = max(self._columns.wall_us, self._before.wall_us)
        self._this, self._baseline = (
            Timeline(trace, columns, distinct_names(trace), WIDTH, until_us, _RIGHT)
            for trace, columns in (
                (comparison.this, self._columns),
                (comparison.baseline, self._before),
            )
        )

    def draw(self, shown: list[ComparedRow], top: float) -> str:
        pieces = pieces_of(len(shown))
        parts = [self._this.axis(top, AXIS + ROW * len(shown))]
        for place, compared in enumerate(shown):
            middle = top + AXIS + ROW * place + ROW / 2
            draw = self._missing if compared.missing else self._row
            parts.append(draw(compared, middle, pieces))
        return "".join(parts)

    def _row(self, compared: ComparedRow, middle: float, pieces: int) -> str:
        bars = self._bars(compared.baseline, middle + _BELOW, _TALL)
        under = svg.boxes(bars, "fg3", opacity="0.7")
        row = self._this.row(compared.row, middle, pieces, self._beside(compared))
        return row + under

    def _beside(self, compared: ComparedRow) -> str:
        delta = compared.delta(self._columns, self._before)
        if delta is None:
            return _label("new") if compared.is_new else ""
        return "" if delta.sign == "≈" else _label(delta.sign, delta.words)

    def _missing(self, compared: ComparedRow, middle: float, _: int) -> str:
        """Draw hollow bars where the calls once were."""
        calls = compared.row.calls
        outline = [
            svg.rect(*place, "card", stroke=svg.COLOURS["fg3"], stroke_dasharray="2 2")
            for place in self._bars(calls, middle - 4, 8.0)
        ]
        end = self._baseline.x(float(self._before.end_us[list(calls)].max()))
        words = f"missing, {time(self._before.took_us(calls))}"
        label: dict[str, svg.Value] = {"font_size": 10.5, "fill": svg.COLOURS["fg2"]}
        text = svg.text(end + 7, middle + 4, words, **label)
        return self._baseline.name(compared.row, middle) + "".join(outline) + text

    def _bars(
        self, calls: tuple[int, ...], top: float, tall: float
    ) -> list[tuple[float, float, float, float]]:
        x, columns = self._baseline.x, self._before
        places = []
        for call in calls[:_MOST_BARS]:
            start, end = (
                x(float(times[call])) for times in (columns.start_us, columns.end_us)
            )
            places.append((start, top, max(1.0, end - start), tall))
        return places


def _label(sign: str, words: str = "") -> str:
    return svg.tspan(words or sign, dx=6, fill=svg.COLOURS[colour_of(sign)])
