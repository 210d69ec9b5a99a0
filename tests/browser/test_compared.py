"""Specification of a comparison's document in a page that has nothing else."""

import itertools
import re

import pytest
from playwright.sync_api import expect
from views import samples

from blsnb.trace.comparison import compare
from blsnb.trace.excerpt import shortened
from blsnb.views.delta import MINUS
from blsnb.views.documents import document

from .axe import violations
from .view import View

pytestmark = pytest.mark.browser

EDITED = compare(samples.edited_run(), samples.invoice_run())


@pytest.fixture
def show(page, tmp_path):
    """Open a comparison as a file, the way a saved page is read."""

    def shown(comparison=EDITED):
        file = tmp_path / "compared.html"
        file.write_text(document.page(comparison), encoding="utf-8")
        page.goto(file.as_uri())
        view = View(page)
        view.rows.first.wait_for()
        return view

    return shown


def test_the_toolbar_names_the_baseline_and_the_differences(show):
    """It has the number of changed calls."""
    toolbar = show().element.get_by_role("toolbar", name="Run")

    expect(toolbar).to_contain_text("vs 76.2 ms baseline3 changed1 new1 missing")


def test_boxes_show_slower_faster_and_new_models(show):
    """They use words and signs, not colour alone."""
    view = show()

    expect(view.box("text_detector")).to_contain_text("▼ 4.12 ms")
    expect(view.box("llm_extract")).to_contain_text("▲ 5.60 ms")
    expect(view.box("embedder")).to_contain_text("≈")
    expect(view.box("audit")).to_contain_text("new")
    before = re.compile(r"own time 7\.26 ms, before 11\.4 ms")
    expect(view.box("text_detector")).to_have_attribute("aria-description", before)


def test_missing_new_and_changed_calls_are_rows_that_say_so(show):
    """Where they once started."""
    view = show()

    expect(view.rows).to_have_count(12)
    expect(view.rows.nth(10)).to_have_text("schema_checkmissing")
    expect(view.rows.nth(11)).to_have_text("auditnew")
    expect(view.row("text_detector")).to_have_text("text_detectorchanged")


def test_the_inspector_shows_both_times_and_what_differs(show):
    """The largest deviation has its index."""
    view = show()
    view.row("text_detector").click()

    table = view.inspector.get_by_role("row", name=re.compile("^total"))
    expect(table).to_have_text(f"total7.26 ms11.4 ms▼ {MINUS}4.12 ms")
    expect(view.inspector).to_contain_text(
        "← SCORE_MAP1 of 76,800 differ; most by 0.25 at [0, 1, 45, 60]: "
        "0.463924, was 0.713924"
    )


def test_calls_that_could_not_be_compared_are_named(show):
    """Their number is in the toolbar, the reason in the inspector."""
    view = show()
    toolbar = view.element.get_by_role("toolbar", name="Run")
    view.row("layout_model").click()

    expect(toolbar).to_contain_text("1 missing2 not compared")
    expect(view.inspector).to_contain_text("Not compared: values are no longer kept.")


def test_calls_that_the_baseline_only_counts_are_not_new(show):
    """The inspector has the reason."""
    whole = samples.batch_run(300)
    view = show(compare(whole, shortened(whole, 40)))
    toolbar = view.element.get_by_role("toolbar", name="Run")
    view.row("router").first.click()

    expect(toolbar).not_to_contain_text(re.compile(r"\bnew\b|missing"))
    expect(view.inspector).to_contain_text(
        re.compile(r"\d+ of these calls are only counted in the baseline")
    )
    expect(view.tree.get_by_text("new", exact=True)).to_have_count(0)


@pytest.mark.parametrize("width", [1100, 600])
def test_a_long_name_gives_way_to_what_differs(show, page, width):
    """Its badge is read without the tooltip, also in a narrow view."""
    page.set_viewport_size({"width": width, "height": 800})
    row = show().rows.filter(has_text="changed").first
    row.locator(".name").evaluate("(name) => name.textContent = 'n'.repeat(200)")
    badge = row.locator(".badge.compared")

    assert badge.evaluate("(badge) => badge.scrollWidth <= badge.clientWidth")


def test_a_missing_call_can_be_selected(show):
    """Mouse and keyboard can select it; nothing else is emphasised."""
    view = show()
    view.rows.nth(9).click()
    view.tree.press("ArrowDown")

    expect(view.selected_rows).to_have_text(["schema_checkmissing"])
    expect(view.subject).to_have_text("schema_check")
    expect(view.inspector).to_contain_text("in the baseline only")
    expect(view.inspector).to_contain_text("compute infer800 µs")
    view.tree.press("f")
    view.tree.press("n")
    expect(view.selected_rows).to_contain_text(["error"])


def test_a_fold_and_a_model_are_compared_as_a_whole(show):
    """Sums of all their calls; the changed ones are links."""
    view = show()
    view.row("crop_recognizer").click()
    expect(view.inspector).to_contain_text("Compared with baseline")
    view.box("schema_check").click()
    expect(view.inspector).to_contain_text("Changed calls")
    view.inspector.get_by_role("button", name="call 25 at").first.click()

    expect(view.inspector).to_contain_text("before: ValueError: field 'total_due'")


def test_changed_calls_are_filtered(show):
    """Others are paler, missing ones too."""
    view = show()
    view.filter.fill("changed")

    expect(view.row("text_detector")).not_to_have_class(re.compile("dim"))
    expect(view.row("llm_extract")).to_have_class(re.compile("dim"))
    expect(view.rows.nth(10)).to_have_class(re.compile("dim"))


def test_bars_have_tooltips_with_their_call(show, page):
    """The hollow bar of a missing call has one, too."""
    view = show()
    box = view.rows.nth(10).bounding_box()
    page.mouse.move(box["x"] + 500, box["y"] + 11)

    tip = view.element.get_by_role("tooltip")
    expect(tip).to_contain_text("schema_check · in the baseline only")


def test_runs_that_have_nothing_in_common_are_shown(show):
    """Everything is new, everything is missing; hostile names stay text."""
    runs = (samples.hostile_run(), samples.invoice_run())
    for this, before in itertools.permutations(runs):
        view = show(compare(this, before))
        expect(view.tree.get_by_text("missing").first).to_be_visible()
        expect(view.tree.get_by_text("new").first).to_be_visible()
        expect(view.element.locator("img, script")).to_have_count(0)


def test_a_run_and_its_comparison_stand_on_one_page(page, tmp_path):
    """Each in its own place."""
    from blsnb.views.documents import document

    run, edited = samples.invoice_run(), samples.edited_run()
    parts = [
        document.html(edited),
        document.html(EDITED),
        document.html(compare(run, edited)),
    ]
    file = tmp_path / "page.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{''.join(parts)}", "utf-8")
    page.goto(file.as_uri())

    expect(page.locator(".blsnb-view")).to_have_count(3)
    against = page.get_by_text("vs 76.2 ms baseline").locator("visible=true")
    expect(against).to_have_count(2)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_rule_of_wcag_is_broken_in_a_comparison(show, page, axe, theme):
    """Selections of all kinds are checked, in light and dark."""
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    view = show()
    found = {"at first": violations(page, axe)}
    view.row("text_detector").click()
    found["change"] = violations(page, axe)
    view.rows.nth(10).click()
    found["missing"] = violations(page, axe)
    view.box("crop_recognizer").click()
    found["model"] = violations(page, axe)
    page.set_viewport_size({"width": 600, "height": 800})
    found["narrow"] = violations(page, axe)

    assert {state: [] for state in found} == found
