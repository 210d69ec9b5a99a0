"""Specification of the picture of a load: by clients, by rate, and of a plan."""

from __future__ import annotations

import math
import re

import pytest
from asserting import some

from blsnb.views.pictures import svg
from blsnb.views.pictures.diagram import Axis, apart
from blsnb.views.pictures.load_picture import DrawnLoad, draw

from .. import golden_run

LIMIT = "limit of p99"


def row(p50_us=1e3, p99_us=2e3, throughput=10.0, **more):
    """Return a level."""
    return {
        "throughput": throughput,
        "p50_us": p50_us,
        "p90_us": p50_us,
        "p99_us": p99_us,
        **more,
    }


def clients(*counts, **more):
    """Return levels of clients."""
    return [row(concurrency=count, **more) for count in counts]


def rates(*given, **more):
    """Return levels of requests per second."""
    return [row(rate=rate, **more) for rate in given]


def texts(load):
    """Return the texts of a picture."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", draw(load, "m"))


def lines_of(load, colour):
    """Return the outlines of a picture in a colour."""
    pattern = rf'<path d="([^"]*)" fill="none" stroke="{svg.COLOURS[colour]}"'
    return re.findall(pattern, draw(load, "m"))


@pytest.mark.parametrize(
    ("rows", "label"),
    [(clients(1, 4), "clients"), (rates(50, 100), "requests sent per second")],
)
def test_the_axis_is_that_of_the_levels(rows, label):
    """Both diagrams have it, and both percentiles are named."""
    shown = texts(DrawnLoad(rows))

    assert 2 == shown.count(label)
    assert {"p50", "p90", "p99", "requests per second", "latency"} <= set(shown)
    # No time has no unit.
    assert "0" == shown[shown.index("latency") + 1]


@pytest.mark.parametrize(
    ("rows", "drawn"), [(rates(50, 100), 1), (clients(1, 4), 0), ([], 0)]
)
def test_only_rates_have_a_line_for_all_answered(rows, drawn):
    """It is drawn once, and explained in the legend."""
    lines = lines_of(DrawnLoad(rows), "fg3")

    assert [drawn, 2 * drawn] == [
        texts(DrawnLoad(rows)).count("all answered"),
        len(lines),
    ]


def test_the_picture_follows_the_theme():
    """Each of its colours has a rule for dark pages."""
    drawn = draw(DrawnLoad(rates(50), rate=50, limit_us=3e3, error=0.1), "m")
    used = set(re.findall(r'(?:fill|stroke)="(#\w+)"', drawn.split("</style>")[1]))

    assert f'class="{svg.THEMED}"' in drawn
    assert set(some(used)) <= set(svg.COLOURS.values())
    for colour in some(used):
        assert f'"{colour}"]{{' in drawn


def test_the_pictures_of_loads_are_the_golden_ones():
    """A change of a picture is reviewed before it is accepted."""
    assert golden_run.LOADS.read_text("utf-8") == golden_run.loads()


def test_measurements_are_beside_predictions():
    """There is a diamond for each measured throughput and latency."""
    plan = DrawnLoad(rates(50, 100), rate=100, error=0.05)
    checked = plan._replace(measured=rates(50, 50, 100))
    diamonds = [draw(each, "m").count("l4.5 4.5l-4.5 4.5") for each in (plan, checked)]

    assert [0, 4 * 3 + 1] == diamonds
    assert "measured" in texts(checked)
    assert "± 5%, calibration" in texts(plan)


@pytest.mark.parametrize(("limit_us", "is_drawn"), [(5e3, True), (1e6, False)])
def test_a_far_limit_is_not_drawn(limit_us, is_drawn):
    """The latencies would be flat below it."""
    shown = texts(DrawnLoad(rates(50), rate=50, limit_us=limit_us))

    assert is_drawn == any(LIMIT in each for each in shown)


@pytest.mark.parametrize(("p99_us", "is_log"), [(9e3, False), (1e6, True)])
def test_latencies_that_differ_much_have_a_logarithmic_axis(p99_us, is_log):
    """One slow percentile does not flatten the others."""
    assert is_log == (
        "latency (logarithmic)" in texts(DrawnLoad(rates(5, p99_us=p99_us)))
    )


def test_a_level_without_answers_breaks_the_lines():
    """Its latencies are missing; the throughput is 0."""
    rows = rates(10, 20, 30)
    rows[1] |= {"p50_us": math.nan, "p90_us": math.nan, "p99_us": math.nan}
    [line, _legend] = lines_of(DrawnLoad(rows), "queue")

    assert 2 == line.count("M")
    assert "nan" not in draw(DrawnLoad(rows), "m")


@pytest.mark.parametrize(("levels", "bars"), [(3, 3), (100, 0)])
def test_many_errors_are_a_band(levels, bars):
    """Few are bars, of which each one can be read."""
    rows = rates(*range(1, levels + 1), p99_error_us=1e3)
    drawn = draw(DrawnLoad(rows), "m")

    assert bars == sum("h6M" in each for each in lines_of(DrawnLoad(rows), "queue"))
    assert (not bars) == ('fill-opacity="0.16"' in drawn)


def test_no_levels_are_an_empty_picture():
    """There is nothing to scale by."""
    assert ["requests per second", "latency"] == [
        each for each in texts(DrawnLoad([])) if each.endswith(("second", "latency"))
    ]


def test_words_are_escaped():
    """A name of a model is foreign text."""
    assert 'aria-label="&lt;b&gt;' in draw(DrawnLoad([]), "<b>")


def test_labels_do_not_overlap():
    """The first one is kept of several that are close together."""
    axis = Axis.from_zero(0, 300, [64])
    shown = apart(axis, [1, 2, 4, 8, 16, 32, 64], str)

    assert [1, 4, 8, 16, 32, 64] == shown


@pytest.mark.parametrize("values", [[1e-3, 5e9], [1.0, 10.5], [3.0], [math.inf, 2.0]])
def test_each_axis_has_a_few_round_labels(values):
    """From microseconds to minutes, and over any number of decades."""
    axis = Axis.fitting(0, 100, values)

    assert 1 <= len(axis.ticks) <= 6
    assert sorted(axis.ticks) == axis.ticks
