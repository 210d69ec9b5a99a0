"""Specification of documents that share the code of one of them."""

import re

import nbformat
import pytest
from playwright.sync_api import expect
from views import samples
from views.encoded import html_with

from blsnb.views.documents import document

from . import hosts
from .view import View

pytestmark = pytest.mark.browser

FIRST = document.html(samples.invoice_run())
OTHER = document.html(samples.edited_run(), carries_code=False)
STILL = re.compile("Still picture; the interactive view needs a trusted notebook")
NEEDS = re.compile("This view needs the first run of its cell")
OLD = "export function mount(host) { host.textContent = 'of another version'; }"
PAGES = {
    "VS Code": hosts.vscode("vscode-light"),
    "Colab": hosts.colab("light"),
}


@pytest.mark.parametrize("host", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("order", ["first above", "first below"])
def test_a_document_without_code_is_interactive_beside_one_that_carries_it(
    page, host, order
):
    """The order of outputs does not matter."""
    outputs = [FIRST, OTHER] if order == "first above" else [OTHER, FIRST]
    frame = hosts.show(page, host, *outputs)
    expect(frame.locator(".blsnb-view")).to_have_count(2)
    expect(frame.get_by_text(STILL)).to_have_count(0)
    view = View(frame.locator(".blsnb-run").nth(outputs.index(OTHER)))
    view.box("rerank").click()

    expect(view.subject).to_have_text("rerank")
    expect(frame.get_by_text(NEEDS)).to_have_count(0)


def test_a_document_without_code_alone_is_readable_and_says_what_is_missing(page):
    """Picture and table; when the code arrives, the view takes their place."""
    host = hosts.colab("light")
    frame = hosts.show(page, host, OTHER)
    expect(frame.get_by_text(NEEDS)).to_be_visible()
    expect(frame.get_by_role("img", name="invoice_pipeline")).to_be_visible()
    expect(frame.locator(".blsnb-run")).to_have_css("min-height", "0px")
    frame.get_by_text("Models", exact=True).click()
    expect(frame.get_by_role("row", name="rerank")).to_be_visible()
    hosts.add(frame, host, FIRST)

    expect(frame.locator(".blsnb-view")).to_have_count(2)
    expect(frame.get_by_text(NEEDS)).to_have_count(0)


def test_code_stays_in_the_page_when_its_output_is_cleared(page):
    """A document that arrives later uses it."""
    host = hosts.colab("light")
    frame = hosts.show(page, host, FIRST)
    expect(frame.locator(".blsnb-view")).to_have_count(1)
    frame.evaluate("document.querySelector('.output').remove()")
    hosts.add(frame, host, OTHER)

    expect(frame.locator(".blsnb-view")).to_have_count(1)


def test_code_of_another_release_is_not_used(page):
    """A document never runs with code that it was not made for."""
    host = hosts.colab("light")
    old = html_with(OLD, samples.invoice_run())
    frame = hosts.show(page, host, OTHER, old)
    expect(frame.locator(".blsnb-run").nth(1)).to_have_text("of another version")
    expect(frame.get_by_text(NEEDS)).to_be_visible()
    hosts.add(frame, host, FIRST)

    expect(frame.locator(".blsnb-view")).to_have_count(2)


def test_damaged_code_is_replaced_by_that_of_another_document(page):
    """One damaged output, which stays a picture, does not affect the others."""
    host = hosts.colab("light")
    damaged = re.sub(r'(const own = ")\+,\^C', r"\1+,^D", FIRST)
    frame = hosts.show(page, host, damaged + OTHER + FIRST)

    expect(frame.locator(".blsnb-view")).to_have_count(2)


@pytest.fixture
def strict(browser):
    """A page whose host refuses scripts and reports it in the console."""
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    yield page
    page.close()


def test_where_only_inline_scripts_may_run_code_is_shared(strict):
    """The page's policy refuses to import code from a blob."""
    frame = hosts.show(strict, hosts.INLINE_ONLY, OTHER, FIRST)

    expect(frame.locator(".blsnb-view")).to_have_count(2)


def test_without_scripts_both_are_a_picture_and_no_packed_text(strict):
    """GitHub only keeps markup and images; a sentence says what helps."""
    frame = hosts.show(strict, hosts.NO_SCRIPTS, FIRST + OTHER)
    pictures = frame.get_by_role("img", name="invoice_pipeline")

    expect(frame.get_by_text(STILL)).to_have_count(2)
    expect(frame.locator(".blsnb-run").last).to_have_css("min-height", "0px")
    expect(pictures).to_have_count(2)
    expect(frame.get_by_text("+,^C")).to_have_count(0)


TRUST = """() => {
    const { widgets } = jupyterapp.shell.currentWidget.content;
    for (const cell of widgets) cell.model.trusted = true;
}"""


def test_runs_of_a_cell_are_readable_without_the_first_one_in_jupyterlab(lab):
    """Each says what helps: to trust the notebook, then to run the cell again."""
    outputs = [
        nbformat.v4.new_output("display_data", {"text/html": OTHER}) for _ in range(11)
    ]
    cell = nbformat.v4.new_code_cell("...", outputs=outputs, execution_count=1)
    book = nbformat.v4.new_notebook(cells=[cell])
    lab.put("without_first.ipynb", nbformat.writes(book))
    lab.open_without_kernel("without_first.ipynb")
    shown = lab.cell(0)
    pictures = shown.get_by_role("img", name="invoice_pipeline")

    expect(pictures).to_have_count(11)
    expect(shown.get_by_text(STILL)).to_have_count(11)
    lab.page.evaluate(TRUST)
    expect(shown.get_by_text(NEEDS)).to_have_count(11)
    expect(pictures).to_have_count(11)
    expect(shown.get_by_text(STILL)).to_have_count(0)
