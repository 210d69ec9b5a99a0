"""Specification of the view on paper, in a reader's colours, enlarged, and still."""

import pytest
from playwright.sync_api import expect
from views import samples

from blsnb.trace.comparison import compare
from blsnb.views.documents import document

from .view import View

pytestmark = pytest.mark.browser

BEFORE = """() => addEventListener("beforeprint", () => {
    const root = document.querySelector(".blsnb-view").shadowRoot;
    const box = (name) => root.querySelector(name).getBoundingClientRect();
    printed = {
        theme: root.querySelector(".view").dataset.theme,
        wide: box(".view").width,
        canvas: box(".bars").width,
        pane: root.querySelector(".tree").clientWidth,
        below: box(".inspector").top >= box(".tree").bottom,
    };
})"""
"""Notes what is going to be printed: a page has no later moment to see it."""
STYLE = """(view) => [".view", ".rows", ".toolbar button"]
    .map((name) => getComputedStyle(view.shadowRoot.querySelector(name)))
    .map(({ printColorAdjust, zIndex, display }) => [printColorAdjust, zIndex, display])
"""


@pytest.fixture
def show(page, tmp_path):
    """Open a run in a dark notebook's page."""

    def shown(trace, **how):
        file = tmp_path / "run.html"
        html = document.html(trace, **how)
        page_of = f'<!doctype html><body data-jp-theme-light="false">{html}'
        file.write_text(page_of, encoding="utf-8")
        page.goto(file.as_uri())
        view = View(page)
        view.rows.first.wait_for()
        return view

    return shown


def test_on_paper_a_view_is_light_and_as_wide_as_paper(show, page):
    """Panes are stacked and in the colours of paper; afterwards as before."""
    view = show(samples.invoice_run())
    frame = view.element.locator(".view")
    before = frame.bounding_box()
    page.evaluate(BEFORE)
    page.pdf()
    printed = page.evaluate("printed")

    assert "light" == printed["theme"]
    assert 600 < printed["wide"] <= 700
    assert printed["canvas"] <= printed["pane"] < printed["wide"]
    assert printed["below"]
    expect(frame).to_have_attribute("data-theme", "dark")
    expect(view.rows).to_have_count(11)
    assert before == frame.bounding_box()


def test_on_paper_colours_and_names_stay_and_buttons_go(show, page):
    """A cleared canvas would hide the names below it."""
    view = show(samples.invoice_run())
    page.emulate_media(media="print")
    whole, names, button = view.element.evaluate(STYLE)

    assert "exact" == whole[0]
    assert "1" == names[1]
    assert "none" == button[2]


def test_on_paper_a_long_name_gives_way_to_what_differs(show, page):
    """Paper has no tooltip."""
    page.set_viewport_size({"width": 650, "height": 900})
    trace = compare(samples.edited_run(), samples.invoice_run())
    row = show(trace).rows.filter(has_text="changed").first
    page.emulate_media(media="print")
    row.locator(".name").evaluate("(name) => name.textContent = 'n'.repeat(200)")
    badge = row.locator(".badge.compared")

    assert badge.evaluate("(badge) => badge.scrollWidth <= badge.clientWidth")


def test_in_forced_colours_the_phases_keep_theirs(show, page):
    """The legend needs their colours."""
    page.emulate_media(forced_colors="active")
    view = show(samples.invoice_run())
    view.row("rerank").click()
    swatches = view.element.locator(".phases .swatch")
    colours = {
        each.evaluate("swatch => getComputedStyle(swatch).backgroundColor")
        for each in swatches.all()
    }

    assert swatches.count() == len(colours) == 5
    called = view.inspector.locator("[aria-current=location]")
    outline = "line => getComputedStyle(line).outlineStyle"
    assert "solid" == called.evaluate(outline)


def test_enlarged_nothing_is_cut_off(show, page):
    """At 200 % 1,280 pixels are 640, at 400 % 320; and no row loses its name."""
    view = show(samples.invoice_run())
    for width in (640, 320):
        page.set_viewport_size({"width": width, "height": 512})
        page.wait_for_function(f"document.documentElement.scrollWidth === {width}")
        names = view.rows.locator(".name")
        widths = [name.bounding_box()["width"] for name in names.all()]
        assert 11 == len(widths)
        assert min(widths) > 16
        view.row("llm_extract").click()
        view.inspector.scroll_into_view_if_needed()
        expect(view.subject).to_have_text("llm_extract")


def test_nothing_moves_with_reduced_motion(show, page):
    """Otherwise the dot of a running run moves."""
    view = show(samples.running_run(), state="running")
    expect(view.element.locator(".state.running")).to_have_count(1)
    moving = "document.querySelector('.blsnb-view').shadowRoot.getAnimations().length"
    for wanted, animations in (("no-preference", 1), ("reduce", 0)):
        page.emulate_media(reduced_motion=wanted)
        page.wait_for_function(f"{moving} === {animations}", timeout=10_000)
