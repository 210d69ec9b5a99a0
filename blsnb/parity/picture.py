"""The picture of a parity: what both servers answered, line by line, as a figure."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from blsnb.parity.agreement import Agreement, Case
from blsnb.parity.checks import Check
from blsnb.parity.triton.answers import Answers
from blsnb.tensors.ref import TensorRef
from blsnb.views.figures.shown_figure import new_figure
from blsnb.views.format import clip, counted, time
from blsnb.views.pictures.svg import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 960
"""Pixels."""
_ROW = 26.0
_TOP, _BOTTOM = 58.0, 14.0
_DPI = 100
_TEXT = 8.0
_MOST_CASES = 6
_MOST_CHECKS = 6
_POINTS = 96
_DOTS = 40


class _Column(NamedTuple):
    x: float
    width: float


_WHAT, _OURS, _THEIRS, _WORDS, _PLOT = (
    _Column(14, 140),
    _Column(160, 190),
    _Column(358, 190),
    _Column(556, 230),
    _Column(794, 152),
)


def png(parity: Agreement) -> bytes:
    """Return the figure as a PNG file, with twice as many pixels as it is wide."""
    written = io.BytesIO()
    with warnings.catch_warnings():
        # A sign that the font lacks is drawn as a box, and no news to the reader.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
        plot(parity).savefig(written, format="png", dpi=2 * _DPI)
    return written.getvalue()


def plot(parity: Agreement) -> Figure:
    """Draw what differs first; and as many cases as a reader looks at."""
    cases = sorted(parity.cases, key=lambda case: case.agree)[:_MOST_CASES]
    lines = [line for case in cases for line in _lines(case)]
    height = _TOP + _BOTTOM + _ROW * len(lines)
    figure = new_figure(figsize=(WIDTH / _DPI, height / _DPI), dpi=_DPI)
    figure.set_facecolor(COLOURS["card"])
    sheet = _Sheet(figure, height)
    sheet.title(parity, len(parity.cases) - len(cases))
    for number, line in enumerate(lines):
        line.draw(sheet, _TOP + _ROW * number)
    return figure


class _Sheet:
    """A figure on which one writes in pixels from its upper left corner."""

    def __init__(self, figure: Figure, height: float) -> None:
        self._figure = figure
        self._height = height

    def write(
        self, column: _Column, y: float, text: str, colour: str = "fg", **how: Any
    ) -> None:
        """Write one line of text, cut to the width of its column."""
        size = how.pop("size", _TEXT)
        cut = clip(text, size * _DPI / 72, column.width)
        self._figure.text(
            column.x / WIDTH,
            1 - y / self._height,
            cut.replace("$", r"\$"),
            color=COLOURS[colour],
            fontsize=size,
            va="center",
            **how,
        )

    def axes(self, y: float) -> Axes:
        """Return a place to draw in, as high as a line."""
        bottom = 1 - (y + _ROW - 4) / self._height
        box = (_PLOT.x / WIDTH, bottom, _PLOT.width / WIDTH, (_ROW - 6) / self._height)
        axes = self._figure.add_axes(box)
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set_color(COLOURS["line"])
        return axes

    def title(self, parity: Agreement, hidden: int) -> None:
        """Write what was compared, and the names of the columns."""
        colour = "output" if parity.agree else "error"
        more = f"; {counted(hidden, 'further case')} not drawn" if hidden else ""
        whole = _Column(_WHAT.x, WIDTH - 2 * _WHAT.x)
        self.write(whole, 17, f"{parity.caption}{more}", colour, size=10, weight="bold")
        for column, name in (
            (_OURS, "blsnb"),
            (_THEIRS, "real server"),
            (_WORDS, "difference"),
            (_PLOT, "values; times"),
        ):
            self.write(column, 42, name, "fg2", weight="bold")


class _Head:
    """The line above the checks of a case."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def draw(self, sheet: _Sheet, y: float) -> None:
        agree = self._case.agree
        mark = "✓ the same" if agree else "✗ different"
        middle = y + _ROW / 2
        sheet.write(_Column(_WHAT.x, 320), middle, self._case.name, weight="bold")
        colour = "output" if agree else "error"
        sheet.write(_WORDS, middle, mark, colour, weight="bold")


class _Part:
    """The line of one check."""

    def __init__(self, check: Check) -> None:
        self._check = check

    def draw(self, sheet: _Sheet, y: float) -> None:
        check, middle = self._check, y + _ROW / 2
        colour = "fg" if check.agrees else "error"
        sheet.write(_WHAT, middle, f"{'=' if check.agrees else '≠'} {check.what}")
        sheet.write(_OURS, middle, check.ours or "nothing", colour)
        sheet.write(_THEIRS, middle, check.theirs or "nothing", colour)
        sheet.write(_WORDS, middle, check.words, colour)
        pair = _numbers(check)
        if pair is not None:
            _draw_values(sheet.axes(y), *pair, _place(check))


class _More:
    """The line that says how many checks are not drawn."""

    def __init__(self, hidden: Sequence[Check]) -> None:
        self._hidden = hidden

    def draw(self, sheet: _Sheet, y: float) -> None:
        differing = sum(not check.agrees for check in self._hidden)
        tail = f", {differing:,} of them different" if differing else ", all the same"
        words = f"… {counted(len(self._hidden), 'further part')}{tail}"
        sheet.write(_Column(_WHAT.x, 480), y + _ROW / 2, words, "fg2")


class _Times:
    """The line of how long it took, with a dot for each response."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def draw(self, sheet: _Sheet, y: float) -> None:
        ours, theirs, middle = self._case.ours, self._case.theirs, y + _ROW / 2
        sheet.write(_WHAT, middle, "time", "fg2")
        sheet.write(_OURS, middle, time(ours.took_ns / 1e3), "fg2")
        sheet.write(_THEIRS, middle, f"{time(theirs.took_ns / 1e3)}, by gRPC", "fg2")
        count = max(len(ours.responses), len(theirs.responses))
        if count > 1:
            words = f"{len(ours.responses):,} and {len(theirs.responses):,} responses"
            sheet.write(_WORDS, middle, words, "fg2")
        _draw_times(sheet.axes(y), ours, theirs)


_Line = _Head | _Part | _More | _Times


def _lines(case: Case) -> list[_Line]:
    checks = case.checks
    # What differs is drawn, wherever it stands.
    shown = sorted(range(len(checks)), key=lambda n: (checks[n].agrees, n))
    shown = sorted(shown[:_MOST_CHECKS])
    hidden = [check for n, check in enumerate(checks) if n not in shown]
    parts: list[_Line] = [_Part(checks[n]) for n in shown]
    more: list[_Line] = [_More(hidden)] if hidden else []
    return [_Head(case), *parts, *more, _Times(case)]


def _numbers(check: Check) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """Return both values as rows of numbers, if there are some to be drawn."""
    tensor = check.tensor
    if tensor is None or tensor.this is None or tensor.baseline is None:
        return None
    if tensor.this.shape != tensor.baseline.shape:
        return None
    mine, real = _row(tensor.this), _row(tensor.baseline)
    return None if mine is None or real is None else (mine, real)


def _row(ref: TensorRef) -> np.ndarray[Any, Any] | None:
    if ref.evicted or ref.dtype.datatype == "BYTES":
        return None
    row = np.asarray(ref.view()).ravel().astype(np.float64)
    return row if row.size > 1 else None


def _place(check: Check) -> int:
    """Return where in the row the largest deviation is; -1 for nowhere."""
    tensor = check.tensor
    if tensor is None or tensor.index is None or tensor.this is None:
        return -1
    return int(np.ravel_multi_index(tensor.index, tensor.this.shape or (1,)))


def _draw_values(
    axes: Axes, mine: np.ndarray[Any, Any], real: np.ndarray[Any, Any], place: int
) -> None:
    chosen = np.unique(np.linspace(0, mine.size - 1, _POINTS).astype(int))
    if place >= 0:
        chosen = np.unique(np.append(chosen, place))
    marker = "o" if chosen.size <= _DOTS else ""
    for values, colour, width in ((real, "line", 4.0), (mine, "infer", 1.2)):
        drawn = np.where(np.isfinite(values), values, np.nan)[chosen]
        axes.plot(chosen, drawn, color=COLOURS[colour], lw=width, marker=marker, ms=2.5)
    if place >= 0:
        axes.axvline(place, color=COLOURS["error"], lw=1.2, ls=(0, (2, 1)))
    axes.margins(x=0.04, y=0.2)


def _draw_times(axes: Axes, ours: Answers, theirs: Answers) -> None:
    for y, answers, colour in ((1, ours, "infer"), (0, theirs, "fg3")):
        axes.barh(y, answers.took_ns, height=0.5, color=COLOURS[colour], alpha=0.35)
        at = [answer.at_ns for answer in answers.responses[:_POINTS]]
        axes.plot(at, [y] * len(at), "|", color=COLOURS[colour], ms=6, mew=1.4)
    axes.set_xlim(0, 1.05 * max(ours.took_ns, theirs.took_ns, 1))
    axes.set_ylim(-0.6, 1.6)
