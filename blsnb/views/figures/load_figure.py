"""Throughput and latencies by clients or rate, as a matplotlib figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from blsnb.printable import printable
from blsnb.views.figures import shown_figure
from blsnb.views.pictures.diagram import Axis
from blsnb.views.pictures.load_picture import LATENCIES, MAX_ERROR, is_open
from blsnb.views.pictures.svg import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHES = ("-", "--", ":")


def plot(title: str, rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the rows of a benchmark, whose keys are the fields of `benchmark.Row`.

    Parameters
    ----------
    title
        Written above the axes; empty to omit it.
    """
    drawn = shown_figure.new_figure(figsize=(7.2, 2.9), dpi=100, layout="constrained")
    left, right = drawn.subplots(1, 2)
    has_rates = is_open(rows)
    levels = [row["rate" if has_rates else "concurrency"] for row in rows]
    left.plot(levels, [row["throughput"] for row in rows], "o-", color=_INFER)
    left.set_title("requests per second", fontsize=9)
    for (name, label, colour, _, error), dash in zip(LATENCIES, _DASHES, strict=True):
        times = [row[name] / 1e3 for row in rows]
        how: Any = {"color": COLOURS[colour], "ms": 4}
        right.plot(levels, times, "o", ls=dash, label=label, **how)
        if has_rates and error and error in rows[0]:
            # The lower end stays above 0, for a logarithmic axis.
            half = [min(row[error], row[name] * MAX_ERROR) / 1e3 for row in rows]
            right.errorbar(levels, times, half, fmt="none", capsize=2, **how)
    right.set_title("latency, ms", fontsize=9)
    for axes in (left, right):
        _tidy(axes, "requests sent per second" if has_rates else "clients")
        if not has_rates:
            axes.set_xticks(sorted(set(levels)))
    throughput = Axis.from_zero(0, 1, [row["throughput"] for row in rows])
    left.set_ylim(throughput.low, throughput.high)
    latencies = [row[name] / 1e3 for row in rows for name, *_ in LATENCIES]
    _scale(right, Axis.fitting(0, 1, latencies))
    if rows:
        right.legend(frameon=False, fontsize=8)
    if title:
        shown = printable(title).replace("$", r"\$")
        drawn.suptitle(shown, fontsize=9, x=0.01, ha="left")
    return drawn


_INFER = COLOURS["infer"]


def _tidy(axes: Axes, label: str) -> None:
    axes.set_xlabel(label, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _scale(axes: Axes, scale: Axis) -> None:
    """Use the scale of the pictures of loads; matplotlib's would cut equal values."""
    axes.set_ylim(scale.low, scale.high)
    if scale.is_log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda number, _: f"{number:g}")
        axes.set_title("latency, ms (logarithmic)", fontsize=9)
