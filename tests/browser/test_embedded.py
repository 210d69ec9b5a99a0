"""Specification of documents beside others, in a frame, and of damaged ones."""

import re
from html import escape

import pytest
from playwright.sync_api import expect
from views import samples
from views.encoded import html_with

from blsnb.views.documents import document

from .view import View

pytestmark = pytest.mark.browser

RUN = samples.invoice_run()
OLD = "export function mount(host) { host.textContent = 'of another version'; }"
DAMAGE = {
    "code that is no gzip": (r'(const own = ")\+,\^C', r"\1+,^D"),
    "code of other letters": (r'(const own = ")\+,\^C', r"\1€~~~"),
    "a header of another run": (r'unpack\("[^"]+"', 'unpack("+,^C"'),
    "no decompression": (r"new DecompressionStream", "new NoSuchStream"),
    "no shadow": (r"^", "<script>Element.prototype.attachShadow = null;</script>"),
}


@pytest.fixture
def show(page, tmp_path):
    """Open HTML as a file."""

    def shown(html):
        file = tmp_path / "page.html"
        file.write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
        page.goto(file.as_uri())
        return page

    return shown


def test_documents_of_two_versions_are_each_shown_by_their_own(show):
    """An output of an older release stays as it is and does not interfere; so does one
    of the same run.
    """
    old = html_with(OLD, RUN)
    page = show(old + document.html(RUN) + document.html(samples.edited_run()) + old)
    hosts = page.locator(".blsnb-run")

    expect(hosts).to_have_count(4)
    for outer in (0, 3):
        expect(hosts.nth(outer)).to_have_text("of another version")
    for inner in (1, 2):
        expect(View(hosts.nth(inner)).subject).to_have_text("invoice_pipeline")
    View(hosts.nth(1)).box("rerank").click()
    expect(View(hosts.nth(1)).subject).to_have_text("rerank")
    expect(View(hosts.nth(2)).subject).to_have_text("invoice_pipeline")


@pytest.mark.parametrize("sandbox", ["", "sandbox=allow-scripts"])
def test_a_saved_page_runs_inside_another(show, sandbox):
    """It is the text of a frame, with or without an origin."""
    inner = escape(document.page(RUN))
    style = "width:1000px;height:700px"
    page = show(f'<iframe {sandbox} style="{style}" srcdoc="{inner}"></iframe>')
    view = View(page.frame_locator("iframe").locator("body"))
    view.box("text_detector").click()

    expect(view.selected_rows).to_have_text(["text_detector"])


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_data_leaves_the_picture(show, damage):
    """The console has one line of information and no error."""
    html, times = re.subn(*damage, document.html(RUN), count=1)
    assert 1 == times
    page = show("")
    with page.expect_console_message(lambda m: "picture only" in m.text) as said:
        show(html)

    assert "info" == said.value.type
    expect(page.get_by_role("img", name="invoice_pipeline · request")).to_be_visible()
    expect(page.locator(".blsnb-view")).to_have_count(0)


def test_a_page_that_was_cut_short_shows_the_picture(show):
    """Half a download is a picture."""
    html = document.html(RUN)
    page = show(html[: len(html) // 2])

    expect(page.get_by_role("img", name="invoice_pipeline · request")).to_be_visible()
