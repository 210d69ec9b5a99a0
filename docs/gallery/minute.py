"""Make the README's moving picture: ``python -m docs.gallery.minute``.

A notebook in a real JupyterLab is written and run, step by step. Each step is one
picture, shown as long as a reader needs for it: the times of the machine are not seen.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import ViewportSize, expect, sync_playwright

from docs.gallery.notebook_page import NotebookPage
from tests.browser import chromium
from tests.browser.lab import Lab
from tests.browser.lab_server import LabServer
from tests.browser.view import View

PICTURE = Path(__file__).parents[1] / "images" / "minute.webp"
MAX_BYTES = 3_000_000
SIZE: ViewportSize = {"width": 960, "height": 640}
COLOURS = 128
NOTEBOOK = "minute.ipynb"
PATIENCE_MS = 60_000
_CELL = """%%triton_model {name} --input X:FP32[-1] --output {output}:FP32[-1]
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X")
{body}
"""
DOUBLE = _CELL.format(
    name="double",
    output="Y",
    body="""        y = pb_utils.Tensor("Y", x.as_numpy() * 2)
        return pb_utils.InferenceResponse([y])""",
)
PIPELINE = _CELL.format(
    name="pipeline",
    output="Z",
    body="""        call = pb_utils.InferenceRequest(
            model_name="double",
            requested_output_names=["Y"],
            inputs=[x],
            trace=request.trace(),
        )
        response = call.exec()
        if response.has_error():
            raise pb_utils.TritonModelException(response.error().message())
        y = pb_utils.get_output_tensor_by_name(response, "Y").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Z", y + 1)])""",
)
REQUEST = """import blsnb
blsnb.infer("pipeline", {"X": [1, 2, 3]})"""


class Film:
    """Pictures of a page, each with the time that it is shown.

    Parameters
    ----------
    lab
        The page.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._notebook = NotebookPage(lab)
        self._pictures: list[Image.Image] = []
        self._durations_ms: list[int] = []

    def show(self, seconds: float) -> None:
        """Take a picture that is shown for a time."""
        self._lab.page.mouse.move(0, 0)
        with Image.open(io.BytesIO(self._lab.page.screenshot())) as picture:
            few = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            self._pictures.append(few.convert("RGB"))
        self._durations_ms.append(round(seconds * 1000))

    def type(self, index: int, source: str) -> None:
        """Write a cell in a few pieces."""
        lines = source.splitlines(keepends=True)
        self._notebook.write(index, "")
        for end in range(1, len(lines) + 1, 3):
            self._notebook.write(index, "".join(lines[:end]))
            self._notebook.show(index, ".jp-InputArea")
            self.show(0.8)
        self._notebook.write(index, source)
        self.show(1.5)

    def act(self) -> None:
        """Define two models, run them, make a mistake and correct it."""
        notebook = self._notebook
        notebook.run(0)
        self.show(2)
        for index, source in ((1, DOUBLE), (2, PIPELINE)):
            notebook.add(index, "")
            self.type(index, source)
            notebook.run(index)
            notebook.show(index, ".jp-InputArea")
            self.show(4)
        notebook.add(3, REQUEST)
        notebook.show(3, ".jp-InputArea")
        self.show(2)
        self._request(6)
        View(self._lab.cell(3)).box("double").click()
        notebook.show(3, ".jp-InputArea")
        self.show(8)
        notebook.replace(1, "* 2", "@ 2")
        notebook.run(1)
        notebook.show(1, ".jp-InputArea")
        self.show(4)
        notebook.run(3)
        notebook.show(3, ".jp-OutputArea")
        self.show(8)
        notebook.replace(1, "@ 2", "* 2")
        notebook.run(1)
        notebook.show(1, ".jp-InputArea")
        self.show(3)
        self._request(7)

    def _request(self, seconds: float) -> None:
        self._notebook.run(3)
        cell = self._lab.cell(3)
        expect(cell.locator(".blsnb-run .blsnb-view")).to_have_count(1)
        expect(View(cell).box("double")).to_be_visible()
        self._notebook.show(3, ".jp-InputArea")
        self.show(seconds)

    def save(self) -> None:
        """Write the picture; it starts anew forever."""
        packed = io.BytesIO()
        first, *others = self._pictures
        first.save(
            packed,
            "WEBP",
            save_all=True,
            append_images=others,
            duration=self._durations_ms,
            loop=0,
            lossless=True,
            quality=100,
            method=6,
        )
        if packed.tell() > MAX_BYTES:
            raise ValueError(f"{packed.tell():,} bytes, more than {MAX_BYTES:,}")
        PICTURE.write_bytes(packed.getvalue())
        seconds = sum(self._durations_ms) / 1000
        print(f"{len(self._pictures)} pictures, {seconds} s, {packed.tell():,} bytes")


def main() -> None:
    """Make the picture."""
    expect.set_options(timeout=PATIENCE_MS)
    with (
        tempfile.TemporaryDirectory() as home,
        LabServer(Path(home)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=chromium.executable(), args=chromium.ARGUMENTS
        )
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(PATIENCE_MS)
        lab = Lab(page, server)
        lab.write(NOTEBOOK, "%load_ext blsnb")
        lab.open(NOTEBOOK)
        page.evaluate("jupyterapp.shell.collapseLeft()")
        film = Film(lab)
        film.act()
        film.save()
        browser.close()


if __name__ == "__main__":
    main()
