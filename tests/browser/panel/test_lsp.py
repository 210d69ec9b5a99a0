"""A language server in the cells of models, where jupyterlab-lsp is installed."""

import importlib.util

import pytest
from playwright.sync_api import TimeoutError, expect
from waiting import until

MODEL = """%%triton_model double --input X:FP32[4] --output X:FP32[4]
import triton_python_backend_utils as pb_utils


def answered(request):
    return pb_utils.InferenceResponse(request.inputs())


class TritonPythonModel:
    def execute(self, requests):
        return [answered(request) for request in requests] + undefined_list
"""
"""Line 5 has the definition, line 11 a call and an undefined name."""
SERVERS = ("jupyterlab_lsp", "pylsp")
MISSING = [name for name in SERVERS if importlib.util.find_spec(name) is None]
WAIT_MS = 60_000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


@pytest.fixture
def cell(lab):
    """A cell of a model, known to the language server."""
    lab.write("lsp.ipynb", "%load_ext blsnb", MODEL, "double = 1")
    lab.open("lsp.ipynb")
    cell = lab.page.locator(".jp-CodeCell").nth(1)
    cell.locator(".cm-line").nth(10).click()
    expect(cell.locator(".cm-lintRange").first).to_be_visible(timeout=WAIT_MS)
    return cell


def put_cursor(lab, line, column):
    """Put the cursor into a line of the active cell."""
    lab.page.evaluate(
        "([line, column]) => jupyterapp.shell.currentWidget.content.activeCell.editor"
        ".setCursorPosition({ line, column })",
        [line, column],
    )


def cursor(lab):
    return lab.page.evaluate(
        "jupyterapp.shell.currentWidget.content.activeCell.editor.getCursorPosition()"
    )


def test_diagnostics_are_those_of_the_model(lab, cell):
    """The undefined name is marked; the notebook's names and the magic are not."""
    marked = cell.locator(".cm-lintRange-error, .cm-lintRange-warning")
    others = lab.page.locator(".jp-CodeCell .cm-lintRange-error").all_inner_texts()

    assert "undefined_list" in marked.all_inner_texts()
    assert ["undefined_list"] == sorted(set(others))


def test_names_of_triton_are_completed(lab, cell):
    """From the stubs of blsnb, before any cell has run."""
    put_cursor(lab, 10, 0)
    lab.page.keyboard.type("        pb_utils.InferenceR")
    name = lab.page.locator(".jp-Completer-item").filter(has_text="InferenceRequest")

    def is_offered():
        # JupyterLab waits for a second only, and the server reads packages at first.
        if lab.page.locator(".jp-Completer").first.is_visible():
            lab.page.keyboard.press("Escape")
        lab.command("completer:invoke-notebook")
        try:
            name.first.wait_for(timeout=5_000)
        except TimeoutError:
            return False
        return True

    assert until(is_offered, WAIT_MS / 1000)


def test_a_definition_is_found_in_the_cell(lab, cell):
    """The cursor goes to the line of the function."""
    put_cursor(lab, 10, 20)
    lab.command("lsp:jump-to-definition")
    lab.wait_for(
        "jupyterapp.shell.currentWidget.content.activeCell.editor"
        ".getCursorPosition().line === 4",
        timeout=WAIT_MS,
    )

    assert 4 == cursor(lab)["line"]
