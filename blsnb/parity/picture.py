"""A comparison with a real server as a figure, one line for each compared part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from blsnb.parity.agreement import Agreement, Case
from blsnb.parity.checks import ParityCheck
from blsnb.parity.triton.outcome import ClientOutcome
from blsnb.printable import counted
from blsnb.tensors.ref import TensorRef
from blsnb.views.figures import shown_figure
from blsnb.views.format import clip, time
from blsnb.views.pictures.svg import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 960
"""Width of the figure, in pixels."""
_ROW = 26.0
_TOP, _BOTTOM = 58.0, 14.0
_DPI = 100
_TEXT = 8.0
_MAX_CASES = 6
_MAX_CHECKS = 6
_MAX_POINTS = 96
_MAX_MARKERS = 40
_MAX_VALUE = 1e307
"""Largest number that is drawn: matplotlib adds margins, which must not overflow."""


class _Column(NamedTuple):
    x: float
    width: float


_PART, _ACTUAL, _EXPECTED, _VERDICT, _PLOT = (
    _Column(14, 140),
    _Column(160, 190),
    _Column(358, 190),
    _Column(556, 230),
    _Column(794, 152),
)


def png(parity: Agreement) -> bytes:
    """Return the figure as a PNG file at twice its width in pixels."""
    return shown_figure.png(plot(parity), dpi=2 * _DPI)


def plot(parity: Agreement) -> Figure:
    """Draw the first cases, those that differ before the others."""
    cases = sorted(parity.cases, key=lambda case: case.agree)[:_MAX_CASES]
    lines = [line for case in cases for line in _lines(case)]
    height = _TOP + _BOTTOM + _ROW * len(lines)
    figure = shown_figure.new_figure(figsize=(WIDTH / _DPI, height / _DPI), dpi=_DPI)
    figure.set_facecolor(COLOURS["card"])
    sheet = _Sheet(figure, height)
    sheet.title(parity, len(parity.cases) - len(cases))
    for number, line in enumerate(lines):
        line(sheet, _TOP + _ROW * number)
    return figure


class _Sheet:
    """A figure with coordinates in pixels from its upper left corner."""

    def __init__(self, figure: Figure, height: float) -> None:
        self._figure = figure
        self._height = height

    def write(
        self, column: _Column, y: float, text: str, colour: str = "fg", **style: Any
    ) -> None:
        """Write one line of text, clipped to the width of its column."""
        size = style.pop("size", _TEXT)
        clipped = clip(text, size * _DPI / 72, column.width)
        self._figure.text(
            column.x / WIDTH,
            1 - y / self._height,
            clipped.replace("$", r"\$"),
            color=COLOURS[colour],
            fontsize=size,
            va="center",
            **style,
        )

    def axes(self, y: float) -> Axes:
        """Return axes of the height of a line, in the plot column."""
        bottom = 1 - (y + _ROW - 4) / self._height
        box = (_PLOT.x / WIDTH, bottom, _PLOT.width / WIDTH, (_ROW - 6) / self._height)
        axes = self._figure.add_axes(box)
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set_color(COLOURS["line"])
        return axes

    def title(self, parity: Agreement, hidden: int) -> None:
        failed = any(case.failed for case in parity.cases)
        colour = _colour(parity.agree, failed)
        more = f"; {counted(hidden, 'further case')} not drawn" if hidden else ""
        whole = _Column(_PART.x, WIDTH - 2 * _PART.x)
        self.write(whole, 17, f"{parity.caption}{more}", colour, size=10, weight="bold")
        for column, name in (
            (_ACTUAL, "blsnb"),
            (_EXPECTED, "real server"),
            (_VERDICT, "difference"),
            (_PLOT, "values; times"),
        ):
            self.write(column, 42, name, "fg2", weight="bold")


_Line = Callable[[_Sheet, float], None]
"""Draws one line of a case at a distance from the upper edge, in pixels."""


def _lines(case: Case) -> list[_Line]:
    checks = case.checks
    # Checks that differ are drawn before others, all in their original order.
    shown = sorted(range(len(checks)), key=lambda n: (checks[n].agrees, n))
    shown = sorted(shown[:_MAX_CHECKS])
    hidden = [check for n, check in enumerate(checks) if n not in shown]
    parts = [partial(_draw_check, checks[n]) for n in shown]
    more = [partial(_draw_hidden, hidden)] if hidden else []
    return [partial(_draw_title, case), *parts, *more, partial(_draw_times, case)]


def _colour(agrees: bool, failed: bool) -> str:
    """Return green for equal answers, amber for equal errors, red for a difference."""
    if not agrees:
        return "error"
    return "queue" if failed else "output"


def _draw_title(case: Case, sheet: _Sheet, y: float) -> None:
    mark = "✓ agrees" if case.agree else "✗ differs"
    if case.agree and case.failed:
        mark = "same error"
    middle = y + _ROW / 2
    sheet.write(_Column(_PART.x, 320), middle, case.name, weight="bold")
    colour = _colour(case.agree, case.failed)
    sheet.write(_VERDICT, middle, mark, colour, weight="bold")


def _draw_check(check: ParityCheck, sheet: _Sheet, y: float) -> None:
    middle, colour = y + _ROW / 2, "fg" if check.agrees else "error"
    sheet.write(_PART, middle, f"{'=' if check.agrees else '≠'} {check.what}")
    sheet.write(_ACTUAL, middle, check.actual or "nothing", colour)
    sheet.write(_EXPECTED, middle, check.expected or "nothing", colour)
    sheet.write(_VERDICT, middle, check.verdict, colour)
    pair = _numbers(check)
    if pair is not None:
        _plot_values(sheet.axes(y), *pair, _deviating(check))


def _draw_hidden(hidden: Sequence[ParityCheck], sheet: _Sheet, y: float) -> None:
    differing = sum(not check.agrees for check in hidden)
    tail = f", {differing:,} different" if differing else ", no difference"
    text = f"… {counted(len(hidden), 'further part')}{tail}"
    sheet.write(_Column(_PART.x, 480), y + _ROW / 2, text, "fg2")


def _draw_times(case: Case, sheet: _Sheet, y: float) -> None:
    middle = y + _ROW / 2
    ours, theirs = case.actual, case.expected
    sheet.write(_PART, middle, "time", "fg2")
    sheet.write(_ACTUAL, middle, time(ours.duration_ns / 1e3), "fg2")
    sheet.write(_EXPECTED, middle, f"{time(theirs.duration_ns / 1e3)}, by gRPC", "fg2")
    if max(len(ours.responses), len(theirs.responses)) > 1:
        text = f"{len(ours.responses):,} and {len(theirs.responses):,} responses"
        sheet.write(_VERDICT, middle, text, "fg2")
    _plot_times(sheet.axes(y), ours, theirs)


def _numbers(
    check: ParityCheck,
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """Return both tensors as flat arrays of floats; None if they cannot be drawn."""
    tensor = check.tensor
    if tensor is None or tensor.this is None or tensor.baseline is None:
        return None
    if tensor.this.shape != tensor.baseline.shape:
        return None
    ours, theirs = _flat(tensor.this), _flat(tensor.baseline)
    return None if ours is None or theirs is None else (ours, theirs)


def _flat(ref: TensorRef) -> np.ndarray[Any, Any] | None:
    if ref.evicted or ref.dtype.datatype == "BYTES":
        return None
    flat = np.asarray(ref.view()).ravel().astype(np.float64)
    return flat if flat.size > 1 else None


def _deviating(check: ParityCheck) -> int:
    """Return the flat index of the largest deviation; -1 without a deviation."""
    tensor = check.tensor
    if tensor is None or tensor.index is None or tensor.this is None:
        return -1
    return int(np.ravel_multi_index(tensor.index, tensor.this.shape or (1,)))


def _plot_values(
    axes: Axes, ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any], marked: int
) -> None:
    chosen = np.unique(np.linspace(0, ours.size - 1, _MAX_POINTS).astype(int))
    if marked >= 0:
        chosen = np.unique(np.append(chosen, marked))
    marker = "o" if chosen.size <= _MAX_MARKERS else ""
    for values, colour, width in ((theirs, "line", 4.0), (ours, "infer", 1.2)):
        drawn = np.where(np.isfinite(values), values, np.nan)[chosen]
        drawn = drawn.clip(-_MAX_VALUE, _MAX_VALUE)
        axes.plot(chosen, drawn, color=COLOURS[colour], lw=width, marker=marker, ms=2.5)
    if marked >= 0:
        axes.axvline(marked, color=COLOURS["error"], lw=1.2, ls=(0, (2, 1)))
    axes.margins(x=0.04, y=0.2)


def _plot_times(axes: Axes, ours: ClientOutcome, theirs: ClientOutcome) -> None:
    for y, outcome, colour in ((1, ours, "infer"), (0, theirs, "fg3")):
        axes.barh(y, outcome.duration_ns, height=0.5, color=COLOURS[colour], alpha=0.35)
        at = [each.at_ns for each in outcome.responses[:_MAX_POINTS]]
        axes.plot(at, [y] * len(at), "|", color=COLOURS[colour], ms=6, mew=1.4)
    axes.set_xlim(0, 1.05 * max(ours.duration_ns, theirs.duration_ns, 1))
    axes.set_ylim(-0.6, 1.6)
