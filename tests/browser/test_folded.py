"""Specification of a run of more calls than are kept: it says so everywhere."""

import pytest
from playwright.sync_api import expect
from views import samples
from views.test_folded import folded, the_loop

from blsnb.views.documents import document
from blsnb.views.format import TIMES

from .view import View

pytestmark = pytest.mark.browser


@pytest.fixture
def view(page, tmp_path):
    """A thousand calls, of which a hundred have rows."""
    file = tmp_path / "run.html"
    file.write_text(document.page(folded(the_loop(), 100)), encoding="utf-8")
    page.goto(file.as_uri())
    view = View(page)
    view.rows.first.wait_for()
    return view


def test_every_pane_counts_all_calls(view):
    """Line, box and row; and how many of them can be looked at."""
    toolbar = view.element.get_by_role("toolbar", name="Run")

    expect(toolbar).to_contain_text("1,001 calls2 models101 shown one by one")
    expect(view.box("inner")).to_contain_text(f"{TIMES}1,000")
    expect(view.row("inner")).to_have_text(f"inner{TIMES}1,000100 kept")
    expect(view.inspector).to_contain_text("folded from 1,001 calls")


def test_the_inspector_has_the_sums_of_counted_calls(view):
    """Their number and their time; the rest is about those that have rows."""
    for choose in (view.row("inner"), view.box("inner")):
        choose.click()
        expect(view.inspector).to_contain_text("1,000 calls")
        expect(view.inspector).to_contain_text(
            "900 calls are only counted: 13.5 ms in all, 15 µs on average. "
            "Phases and links below: of the 100 kept."
        )


def test_the_caller_has_the_duration_of_its_counted_calls(view):
    """Their time looks like its own: they have no rows."""
    view.box("outer").click()

    expect(view.inspector).to_contain_text(
        "900 calls that calls of this model made, 13.5 ms, "
        "are only counted, not in child calls above."
    )


def test_quantiles_are_those_of_all_calls(view):
    """Latencies of calls without rows are counted in classes."""
    view.row("inner").click()

    expect(view.inspector).to_contain_text("Latency per callall 1,000, within 5 %")
    expect(view.inspector).to_contain_text("p5014.4 µs")
    expect(view.inspector).to_contain_text("max15 µs")


def test_a_run_without_counted_calls_has_no_note_on_them(page, tmp_path):
    """Nothing was left out."""
    file = tmp_path / "run.html"
    file.write_text(document.page(samples.invoice_run()), encoding="utf-8")
    page.goto(file.as_uri())
    view = View(page)

    expect(view.box("embedder")).to_have_count(1)
    expect(view.element).not_to_contain_text("kept")
