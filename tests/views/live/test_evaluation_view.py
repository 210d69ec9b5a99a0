"""An evaluation in a page: its lists of rows, whose buttons open runs."""

from __future__ import annotations

import pytest

from blsnb.views.evaluations.page import EvaluationPage, Table, html
from blsnb.views.live.evaluation_view import MAX_ROWS, EvaluationView

WORST = Table("worst <first>", ("row", "error"), [("7", "0.5"), ("12", "<b>")], (7, 12))
SLOWEST = Table("slowest", ("row",), [("12",)], (12,))


@pytest.fixture
def view():
    """The view of two lists; a run's document is its number."""
    page = EvaluationPage("m", ["2 rows"], lists=[WORST, SLOWEST])
    return EvaluationView(page, lambda row: {"text/plain": f"run {row}"})


def shown(view):
    """Return the texts of the buttons that are shown, and those of the others."""
    buttons = view.children[3].children
    return [
        [each.description for each in buttons if each.layout.display == wanted]
        for wanted in ("", "none")
    ]


def test_the_first_list_is_shown(view):
    """Its head and its rows are aligned, and as wide as the page."""
    page, choice, head, rows, _ = view.children

    assert [("worst <first>", 0), ("slowest", 1)] == [*choice.options]
    assert ("Rows", "40em") == (choice.description, choice.layout.width)
    assert "<pre>row  error</pre>" == head.value
    assert [["7    0.5", "12   <b>"], [""] * (MAX_ROWS - 2)] == shown(view)
    assert {"100%"} == {each.layout.width for each in rows.children}
    named = [each._dom_classes for each in (head, rows)]
    assert [("blsnb-evaluation-head",), ("blsnb-evaluation-rows",)] == named
    assert ".blsnb-evaluation-head pre {" in page.value
    assert ".blsnb-evaluation-rows button.jupyter-button {" in page.value
    assert page.value.endswith(html(view._page, lists=False))


def test_another_list_is_chosen(view):
    """The rows of the list before are gone."""
    view.children[1].value = 1

    assert "<pre>row</pre>" == view.children[2].value
    assert [["12"], [""] * (MAX_ROWS - 1)] == shown(view)
    view.children[3].children[0].click()
    opened = view.children[4].outputs
    assert ["row 12", "run 12"] == [each["data"]["text/plain"] for each in opened]


def test_a_page_without_lists_is_only_a_page():
    """There is nothing to choose."""
    page = EvaluationPage("m", ["no rows"])

    [alone] = EvaluationView(page, lambda row: {}).children

    assert alone.value.endswith(html(page))
