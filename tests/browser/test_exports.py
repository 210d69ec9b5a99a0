"""Specification of an executed notebook as a page and as a text, with no network."""

import importlib
import re

import nbformat
import pytest
from nbclient import NotebookClient
from playwright.sync_api import expect
from traitlets.config import Config

from blsnb.views.format import TIMES

from .test_live import STEP
from .view import View

pytestmark = pytest.mark.browser

TWICE = """%%triton_model twice --input X:FP32[-1,-1,-1] --output Y:FP32[-1,-1,-1]
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        y = requests[0].inputs()[0]
        for _ in range(5):
            request = pb_utils.InferenceRequest(
                model_name="step", requested_output_names=["Y"],
                inputs=[pb_utils.Tensor("X", y.as_numpy())])
            y = request.exec().output_tensors()[0]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", y.as_numpy())])]
"""
INFER = 'import blsnb\nblsnb.infer("twice", {"X": [[[0, 1, 2]]]})'


@pytest.fixture(scope="module")
def nbconvert():
    """The package; each process would wait half a second for it at the collection."""
    return importlib.import_module("nbconvert")


@pytest.fixture(scope="module")
def executed():
    """A notebook after nbclient has run it, with what nbclient keeps of widgets."""
    notebook = nbformat.v4.new_notebook()
    for source in ("%load_ext blsnb", STEP, TWICE, INFER):
        notebook.cells.append(nbformat.v4.new_code_cell(source))
    NotebookClient(notebook, timeout=180, kernel_name="python3").execute()
    return notebook


def test_an_executed_export_is_interactive_without_a_network(
    executed, nbconvert, browser, tmp_path
):
    """Everything that the view needs is in the page."""
    text, _ = nbconvert.HTMLExporter().from_notebook_node(executed)
    file = tmp_path / "notebook.html"
    file.write_text(text, encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(file.as_uri(), wait_until="domcontentloaded")
    view = View(page)
    view.row("step").click()

    expect(view.selected_rows).to_have_text([re.compile(f"^step{TIMES}5")])
    expect(view.inspector).to_contain_text("5 calls")
    expect(view.box("twice")).to_have_count(1)
    # In narrow windows, as at a zoom of 200 %, outputs are rows of tables.
    for width in (1000, 500):
        page.set_viewport_size({"width": width, "height": 800})
        output = page.locator(".jp-OutputArea-output:has(.blsnb-view)")
        hidden = output.evaluate("(each) => each.scrollWidth - each.clientWidth")
        assert 0 == hidden
    context.close()


def test_latex_has_the_tree(executed, nbconvert):
    """A printed notebook has the calls and their durations."""
    text, _ = nbconvert.LatexExporter().from_notebook_node(executed)

    assert re.search(r"twice: [\d.]+ \w+ wall, 6 calls, 2 models", text)
    assert f"    step {TIMES}5 " in text


def test_markdown_has_the_tree_and_no_code(executed, nbconvert):
    """The exporter is configured to prefer Markdown to HTML."""
    preferred = {"display_data_priority": ["text/markdown", "text/plain"]}
    exporter = nbconvert.MarkdownExporter(config=Config(NbConvertBase=preferred))
    text, _ = exporter.from_notebook_node(executed)

    assert re.search(r"```text\ntwice: [\d.]+ \w+ wall, 6 calls, 2 models", text)
    assert len(text) < 10_000
