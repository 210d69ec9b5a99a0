"""Specification of the page of an evaluation."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from reviewed import reviewed

from blsnb.views.evaluations.histogram import Distribution, histogram
from blsnb.views.evaluations.page import EvaluationPage, Table, aligned, html, text

from .. import golden_run

ROWS = Table("slowest", ("row", "latency"), [("7", "12 ms"), ("12", "3 ms")], (7, 12))
HOSTILE = "<script>\n\nx"


def drawn(*values: float) -> str:
    """Return the picture of some values."""
    return histogram(Distribution("iou", "", np.array(values), "{:g}".format))


def bars(picture: str) -> int:
    """Return the number of drawn bars."""
    return picture.split("<path", 2)[1].count("z")


@pytest.mark.parametrize(
    ("values", "count"), [([5.0], 1), ([0.0, 1.0], 2), ([1.0, 1.0, 1.0], 1)]
)
def test_each_distinct_value_has_a_bar(values, count):
    """Equal values are one bar."""
    assert count == bars(drawn(*values))


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ([-1.7e308, 0.0, 1.7e308], 3),
        ([5e-324, 1.7e308], 2),
        ([1.0, math.nextafter(1.0, 2.0)], 2),
        ([5e-324, 1e-323], 2),
    ],
)
def test_values_far_apart_or_close_together_are_drawn(values, count):
    """Their distance may exceed a double, or be the smallest one."""
    assert count == bars(drawn(*values))


def test_values_that_differ_a_lot_have_a_logarithmic_axis():
    """The picture says so; zero and negative values keep the axis linear."""
    assert "logarithmic axis" in drawn(1, 2, 1000)
    assert "logarithmic axis" not in drawn(-1, 2, 1000)


def test_a_picture_says_what_it_shows():
    """Its label has the quantity, the number of values and the ends of the axis."""
    label = "Distribution of iou: 2 values from 0.25 to 0.5"
    assert label in drawn(0.25, math.nan, 0.5)


def test_nothing_is_drawn_without_values():
    """NaN and infinite values are left out."""
    assert "" == drawn(math.nan, math.inf)


def test_the_pictures_of_distributions_are_the_golden_ones():
    """A change of a picture is reviewed before it is accepted."""
    assert golden_run.HISTOGRAMS.read_text("utf-8") == golden_run.histograms()


def test_the_page_as_html_is_the_reviewed_one():
    """``BLSNB_WRITE_GOLDEN=1`` writes the file anew; pictures have their own."""
    long = Table("a" * 201, ("text",), [("x" * 200,), ("x" * 201,), ("a\n b",)])
    latency = Distribution("latency <s>", "mean 2 ms", np.array([1.0, 3.0]), str)
    page = EvaluationPage(
        "m", ["2 rows", "3 s"], [latency], [ROWS], [ROWS, long], ["late", "a <note>"]
    )
    whole = re.sub(
        "<svg.*?</svg>", "<svg/>", f"{html(page)}\n{html(page, lists=False)}"
    )
    found = whole.replace("<tr>", "\n<tr>") + "\n"

    assert reviewed(golden_run.FOLDER / "kinds" / "evaluation.html", found) == found


def test_foreign_text_is_escaped_and_one_line():
    """Error texts and labels are not markup."""
    table = Table(HOSTILE, (HOSTILE,), [(HOSTILE,)], (1,))
    page = EvaluationPage(
        HOSTILE,
        [HOSTILE],
        [Distribution(HOSTILE, HOSTILE, np.array([1.0]), "{:g}".format)],
        [table],
        [table],
        [HOSTILE],
    )

    assert "<script" not in html(page)
    assert "&lt;script&gt; x</summary>" in html(page)


def test_a_page_is_well_formed():
    """Notebooks drop or repair other markup, each in its own way."""
    latency = Distribution("latency", "mean 2 ms", np.array([1.0, 3.0]), str)
    page = EvaluationPage("m", ["2 rows"], [latency], [ROWS], [ROWS], ["late"])
    elements = list(ElementTree.fromstring(html(page)).iter())

    titles = [each for each in elements if each.tag == "h4"]
    assert [{"style": "margin:8px 0 2px"}] == [each.attrib for each in titles]
    cells = [each for each in elements if each.tag in ("td", "th")]
    assert 12 == len(cells)
    assert {("style",)} == {tuple(each.attrib) for each in cells}


def test_columns_of_a_list_are_aligned():
    """The head and the rows are lines of text."""
    assert ("row  latency", ["7    12 ms", "12   3 ms"]) == aligned(ROWS)


def test_a_page_as_text_has_facts_and_tables():
    """A terminal shows the same as a notebook, without pictures and lists."""
    counts = Table("Errors", ("rows", "text"), [("2", "bad")])
    page = EvaluationPage("Evaluation of m", ["2 rows"], (), [counts], [ROWS])

    assert "Evaluation of m: 2 rows\nErrors\n  2  bad" == text(page)


def test_a_page_as_text_has_the_statistics_of_its_distributions():
    """Their pictures are left out; notes come last."""
    latency = Distribution("latency", "mean 2 ms", np.array([1.0, 3.0]), str)
    page = EvaluationPage("Evaluation of m", ["2 rows"], [latency], notes=["late"])

    assert "Evaluation of m: 2 rows\n  latency: mean 2 ms\nlate" == text(page)
