"""The figure of a benchmark: its title, and the axis of its latencies."""

from __future__ import annotations

import pytest
from asserting import some

from blsnb.views.figures.load_figure import plot


def rows(p50_us: float, p99_us: float) -> list[dict[str, float]]:
    """Return the rows of two levels."""
    row = {"throughput": 10.0, "p50_us": p50_us, "p90_us": p50_us, "p99_us": p99_us}
    return [{"concurrency": clients, **row} for clients in (1, 4)]


@pytest.mark.parametrize(
    ("p99_us", "scale"), [(900.0, "linear"), (1100.0, "log"), (5e6, "log")]
)
def test_latencies_that_differ_much_have_a_logarithmic_axis(p99_us, scale):
    """One slow percentile does not flatten the others."""
    _, latencies = plot("m", rows(100.0, p99_us)).axes

    assert scale == latencies.get_yscale()
    assert ("logarithmic" in latencies.get_title()) == (scale == "log")


@pytest.mark.parametrize("p99_us", [701e3, 1e7])
def test_all_points_are_drawn_whole(p99_us):
    """They are within the axes, and below the upper end: linear and logarithmic."""
    for axes in some(plot("m", rows(701e3, p99_us)).axes):
        values = [value for line in axes.get_lines() for value in line.get_ydata()]
        lowest, highest = axes.get_ylim()

        assert lowest < min(values)
        assert 1.05 * max(values) < highest


def test_both_axes_are_labelled_and_open_above_and_at_the_right():
    """The marks of clients are at the numbers that were measured."""
    drawn = plot("", rows(100.0, 900.0))

    said = [
        (axes.get_title(), axes.get_xlabel(), [line.get_ls() for line in axes.lines])
        for axes in drawn.axes
    ]
    visible = [
        [side for side, spine in axes.spines.items() if spine.get_visible()]
        for axes in drawn.axes
    ]

    assert [
        ("requests per second", "clients", ["-"]),
        ("latency, ms", "clients", ["-", "--", ":"]),
    ] == said
    assert [["left", "bottom"]] * 2 == visible
    assert [[1, 4]] * 2 == [axes.get_xticks().tolist() for axes in drawn.axes]
    heights = [axes.get_ylim() for axes in drawn.axes]
    assert [(0, 10.8), (0, 0.972)] == [pytest.approx(each) for each in heights]
    assert (7.2, 2.9, 100) == (*drawn.get_size_inches(), drawn.dpi)
    sizes = {
        (each.title.get_size(), each.xaxis.label.get_size()) for each in drawn.axes
    }
    assert {(9.0, 8.0)} == sizes


def test_an_empty_title_is_not_drawn():
    """The title may be above a table."""
    assert "" == plot("", rows(1.0, 1.0)).get_suptitle()
    assert "m" == plot("m", rows(1.0, 1.0)).get_suptitle()


def test_no_rows_are_an_empty_figure():
    """There is no latency to scale by."""
    assert 2 == len(plot("m", []).axes)
