"""Specification of a finished run in hosts that are not run here, under their rules."""

import re

import pytest
from playwright.sync_api import expect
from views import samples

from blsnb.views.documents import document
from blsnb.views.live import running_page as running
from blsnb.views.live.placed_widget import placed

from . import hosts
from .view import View

pytestmark = pytest.mark.browser

DOCUMENT = document.html(samples.invoice_run())
RUNNING = {
    "VS Code": hosts.vscode("vscode-light"),
    "Colab": hosts.colab("light"),
}
SHUT = {"inline only": hosts.INLINE_ONLY, "no styles": hosts.BLOB_ONLY}
KINDS = {
    "vscode-dark": "dark",
    "vscode-high-contrast-light": "light",
    "vscode-high-contrast": "dark",
    "vscode-light": "light",
}
KNOWN = """
globalThis[Symbol.for("blsnb")] = new Map([["%s", {
    mount: (host) => { asked = [document.querySelectorAll("#container img").length,
        [...document.querySelectorAll(".blsnb-run")].indexOf(host)]; },
}]]);
"""
"""A page that knows of a run, and notes when it is asked to draw it where."""


@pytest.mark.parametrize("host", RUNNING.values(), ids=RUNNING)
def test_the_view_runs_in_the_host(page, host):
    """Scripts that the host has copied find their output; keys stay in the view."""
    frame = hosts.show(page, host, DOCUMENT)
    view = View(frame.locator("body"))
    view.box("text_detector").click()
    expect(view.selected_rows).to_have_text(["text_detector"])
    view.row("rerank").click()
    for key in "ddx":
        page.keyboard.press(key)
    page.keyboard.press("ArrowDown")

    expect(view.subject).to_have_text("embedder")
    assert [] == frame.evaluate("heard")


def test_the_theme_is_vs_code_s(page):
    """At first and when it changes, whatever the browser prefers."""
    page.emulate_media(color_scheme="light")
    frame = hosts.show(page, hosts.vscode(next(iter(KINDS))), DOCUMENT)
    view = frame.locator(".blsnb-view .view")
    for kind, theme in KINDS.items():
        frame.evaluate("kind => { document.body.dataset.vscodeThemeKind = kind }", kind)
        expect(view).to_have_attribute("data-theme", theme)


def test_the_theme_is_colab_s(page):
    """At first and when it changes, whatever the browser prefers."""
    page.emulate_media(color_scheme="light")
    frame = hosts.show(page, hosts.colab("dark"), DOCUMENT)
    view = frame.locator(".blsnb-view .view")
    expect(view).to_have_attribute("data-theme", "dark")
    page.emulate_media(color_scheme="dark")
    frame.evaluate("document.documentElement.setAttribute('theme', 'light')")

    expect(view).to_have_attribute("data-theme", "light")


def test_where_scripts_are_copied_a_document_takes_its_live_view_s_place_at_once(page):
    """The script of each of two outputs finds its own before it unpacks anything."""
    # The copy runs at the output's end, where no host stands before it.
    host = hosts.vscode("vscode-light")
    frame = hosts.show(page, host, "<p>another output</p>", DOCUMENT)
    expect(frame.locator(".blsnb-view")).to_have_count(1)
    second = document.html(samples.edited_run())
    run = document.wire.page_id(samples.edited_run())
    frame.evaluate(KNOWN % run)
    hosts.add(frame, host, second)

    expect(frame.locator(".blsnb-run")).to_have_count(2)
    assert [1, 1] == frame.evaluate("asked")


def test_what_was_saved_while_it_ran_is_shown_where_scripts_are_copied(page):
    """A running run shows what has happened; a monitor replaces its table."""
    host = hosts.vscode("vscode-light")
    run = running.mimebundle(samples.running_run())["text/html"]
    frame = hosts.show(page, host, run)
    view = View(frame.locator("body"))
    expect(view.element).to_contain_text("still running when saved")
    frame.evaluate(
        """globalThis[Symbol.for("blsnb-monitors")] = {
            get: () => (host) => { host.textContent = "live"; },
        }"""
    )
    hosts.add(frame, host, placed("table", "monitors", "one"))

    expect(frame.locator(".output > div").last).to_have_text("live")


@pytest.mark.parametrize("host", SHUT.values(), ids=SHUT)
def test_a_host_that_refuses_blobs_or_styles_shows_the_view(bare, host):
    """The view causes no violation of its policy."""
    frame = hosts.show(bare, host, DOCUMENT)
    view = View(frame.locator("body"))
    view.box("text_detector").click()

    expect(view.subject).to_have_text("text_detector")
    width = "view => view.getBoundingClientRect().width"
    assert 200 < view.inspector.evaluate(width) < 400
    assert [] == bare.raised


def test_a_host_that_runs_nothing_shows_the_picture(bare):
    """GitHub and mail programs are such hosts."""
    frame = hosts.show(bare, hosts.NO_SCRIPTS, DOCUMENT)
    picture = frame.get_by_role("img", name=re.compile("^invoice_pipeline .* 27 calls"))

    expect(picture).to_be_visible()
    assert 960 == picture.evaluate("image => image.naturalWidth")
    assert [] == bare.raised


@pytest.fixture
def bare(browser):
    """A page that may complain of what its policy refuses, and of nothing else."""
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.raised = []
    page.on("pageerror", lambda error: page.raised.append(error.message))
    page.on("console", lambda m: "blsnb" in m.text and page.raised.append(m.text))
    yield page
    page.close()
