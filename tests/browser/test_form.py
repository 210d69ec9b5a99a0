"""Specification of %triton try in JupyterLab: a form that is filled in and saved."""

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from .axe import violations
from .view import View

pytestmark = pytest.mark.browser

LOAD = "%load_ext blsnb"
DOUBLE = """%%triton_model double --input X:FP32[-1] --output Y:FP32[-1] --quiet
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        x = requests[0].inputs()[0].as_numpy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x * 2)])]
"""
SIZE = """%%triton_model size --input I:UINT8[-1,-1,3] --output Y:INT64[3] --quiet
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        shape = requests[0].inputs()[0].as_numpy().shape
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(shape))])]
"""
ENDLESS = """%%triton_model endless --input X:FP32[-1] --output Y:FP32[-1] --quiet
import time
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        x = requests[0].inputs()[0].as_numpy()
        while x[0] < 0:  # Only an interrupt ends it.
            time.sleep(0.01)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x * 2)])]
"""
CODE = "import blsnb\n\nblsnb.infer('double', {'X': [1, 2]})"


@pytest.fixture
def tried(lab):
    """Open a notebook with a model, and its form in the third cell."""

    def opened(model, name):
        lab.write("form.ipynb", LOAD, model, f"%triton try {name}")
        lab.open("form.ipynb")
        lab.run_all()
        shown = lab.cell(2)
        shown.get_by_role("button", name="Run").wait_for()
        return shown

    return opened


def test_a_form_is_filled_in_run_copied_and_saved(tried, lab, page):
    """The view is below the form; the saved notebook has a table and the view."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = tried(DOUBLE, "double")
    field = shown.get_by_placeholder("[1, 2, 3]")

    field.fill("one")
    shown.get_by_role("button", name="Run").click()
    expect(shown.get_by_role("alert")).to_contain_text("'one' is not a number")
    field.fill("[1, 2]")
    shown.get_by_role("button", name="Run").click()
    expect(shown.get_by_role("alert")).to_have_count(0)
    expect(shown.get_by_role("status").first).to_contain_text("Done in")
    View(shown).box("double").wait_for()
    shown.get_by_role("button", name="Copy as code").click()
    expect(shown.get_by_text("The code is in the clipboard")).to_be_visible()

    assert page.evaluate("navigator.clipboard.readText()") == CODE
    lab.save()
    saved = (lab.server.notebooks / "form.ipynb").read_text(encoding="utf-8")
    lab.shut_down_kernel()
    lab.put("saved.ipynb", saved)
    lab.open_without_kernel("saved.ipynb")
    shown = lab.cell(2)
    expect(shown).to_contain_text("Form to try double")
    expect(shown).not_to_contain_text("model not found")
    View(shown).box("double").wait_for()


def test_each_request_can_be_interrupted(tried, lab):
    """JupyterLab sends the clicks after the first one to threads of their own."""
    shown = tried(ENDLESS, "endless")
    field = shown.get_by_placeholder("[1, 2, 3]")
    button = shown.get_by_role("button", name="Run")
    said = shown.get_by_role("status").first
    for _ in range(2):
        field.fill("[1]")
        button.click()
        expect(said).to_contain_text("Done in")
        field.fill("[-1]")
        button.click()
        expect(said).to_contain_text("Running")
        lab.command("kernelmenu:interrupt")
        expect(shown.get_by_role("alert")).to_contain_text("Interrupted.")
        expect(button).to_be_enabled()


def test_an_uploaded_picture_is_converted_with_a_sentence(tried, tmp_path):
    """Twelve megabytes arrive; the shape is the declared one."""
    pixels = np.frombuffer(np.random.default_rng(0).bytes(12_000_000), np.uint8)
    file = tmp_path / "noise.png"
    Image.fromarray(pixels.reshape(2000, 2000, 3)).save(file, compress_level=0)
    shown = tried(SIZE, "size")
    shown.locator("select").first.select_option(label="File")

    shown.get_by_label("File for I").set_input_files(file)
    expect(shown.get_by_text("bytes received.")).to_contain_text("noise.png: 12,")
    expect(shown.get_by_text("bytes received.")).not_to_contain_text(" of ")
    shown.get_by_role("button", name="Run").click()

    expect(shown.get_by_text("noise.png: 2000 x 2000 RGB.")).to_be_visible()
    View(shown).box("size").wait_for()


def test_a_form_has_names_and_contrast(tried, lab, axe, page):
    """Every field is reached by keyboard and has a name, in light and dark."""
    shown = tried(DOUBLE, "double")
    shown.get_by_text("Options of the request").click()
    for theme in ("Light", "Dark"):
        lab.theme(theme)

        assert [] == violations(page, axe, ".jp-Cell .jupyter-widgets")
