"""Take the gallery's pictures, and the README's, from runs: ``make gallery``.

Each picture has a file's name; ``python -m docs.gallery.take NAME …`` takes some.
What cannot be taken is told at the end, and its old picture stays.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from playwright.sync_api import (
    Browser,
    Error,
    Locator,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.browser import chromium
from tests.browser.lab import Lab
from tests.browser.lab_server import LabServer
from tests.browser.view import View

HERE = Path(__file__).parent
NOTEBOOKS = HERE.parents[1] / "notebooks"
README = HERE.parent / "images"
SIZE: ViewportSize = {"width": 1280, "height": 860}
MAX_BYTES = 250_000
_RUN_MS = 180_000
_PATIENCE_MS = 60_000
_DONE = """() => jupyterapp.shell.currentWidget.content.widgets
    .filter((cell) => cell.model.type === "code")
    .every((cell) => cell.model.executionCount !== null
        && cell.model.executionState !== "running")"""
LONG = """long = np.tile(sound, -(-10_000 * 512 // len(sound)))[: 9_999 * 512]
for response in blsnb.stream("listen", {"SOUND": long}):
    pass"""
"""Makes the model that listens ask ten thousand times."""


class Picture(NamedTuple):
    """What is to be seen of which cell of which tutorial."""

    notebook: str
    cell: str
    look: Callable[[View], None]
    theme: str = "Light"
    more: str = ""
    """A cell that is added at the end, which the picture is about."""
    alone: bool = False
    """Whether it is of the view without the notebook."""
    folder: Path = HERE
    """Where the picture is kept."""


def _heatmap(view: View) -> None:
    view.box("detector").click()
    _down_to(view, "Outputs")


def _down_to(view: View, heading: str) -> None:
    """Scroll the inspector to a part of it, once that has its pictures."""
    expect(view.inspector.locator(".slice canvas").first).to_be_attached()
    view.inspector.evaluate(
        """(inspector, text) => {
            const all = [...inspector.querySelectorAll("h4")];
            const heading = all.find((each) => each.textContent.startsWith(text));
            inspector.scrollTop = heading.offsetTop - inspector.offsetTop - 12;
        }""",
        heading,
    )


def _critical(view: View) -> None:
    view.tree.press("c")
    view.box("onet").click()
    view.tensor("PIXELS").click()
    _down_to(view, "Inputs")


def _changed(view: View) -> None:
    view.row("route").first.click()


def _stream(view: View) -> None:
    view.row("listen").click()


def _loop(view: View) -> None:
    view.row("voice").click()


def _failure(view: View) -> None:
    view.tree.press("n")


def _portrait(view: View) -> None:
    view.row("face_cascade").click()
    if view.tensor("IMAGE").get_attribute("aria-expanded") != "true":
        view.tensor("IMAGE").click()
    _down_to(view, "Inputs")


PICTURES = {
    "first-run": Picture("14_faces", "hopper", _portrait, alone=True, folder=README),
    "light": Picture("15_reading_a_page", "run", _heatmap),
    "dark": Picture("14_faces", "hopper", _critical, "Dark"),
    "compare": Picture("16_router", "second", _changed),
    "stream": Picture("08_streaming", "stream", _stream),
    "calls": Picture("08_streaming", "", _loop, "Dark", LONG),
    "error": Picture("03_errors", "careful-run", _failure),
}
PAGES = {"narrow": "light", "static": "light"}
"""The output of another picture's cell, in a page that has nothing else."""


def main(names: list[str]) -> int:
    """Take the pictures that are named, or all; return how many could not be."""
    known = [*PICTURES, *PAGES]
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"no picture {', '.join(unknown)}: there are {', '.join(known)}")
        return len(unknown)
    failed = _taken(set(names or known))
    for name, error in failed.items():
        print(f"{name} was not taken: {error}")
    return len(failed)


def _taken(wanted: set[str]) -> dict[str, Exception]:
    """Take pictures, and return why some of them could not be taken."""
    expect.set_options(timeout=_PATIENCE_MS)
    failed: dict[str, Exception] = {}
    with (
        tempfile.TemporaryDirectory() as home,
        LabServer(Path(home)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=chromium.executable(), args=chromium.ARGUMENTS
        )
        for name, picture in PICTURES.items():
            below = {page for page, of in PAGES.items() if of == name} & wanted
            if name in wanted or below:
                print(name, *below, flush=True)
                try:
                    kept = picture.folder / f"{name}.png" if name in wanted else None
                    html = _in_notebook(browser, server, picture, kept)
                    for page in below:
                        _alone(browser, page, html, Path(home, "page.html"))
                except (Error, AssertionError, LookupError, ValueError) as error:
                    failed[name] = error
        browser.close()
    return failed


def _in_notebook(
    browser: Browser, server: LabServer, what: Picture, kept: Path | None
) -> str:
    """Run a tutorial, keep its picture if asked to, and return its output as HTML."""
    with _opened(browser, server, what) as lab:
        index = lab.cell_index(what.cell) if what.cell else lab.cell_count - 1
        cell = lab.cell(index)
        expect(cell.locator(".blsnb-run .blsnb-view")).to_have_count(1)
        view = View(cell)
        what.look(view)
        _scroll_to(cell)
        lab.page.mouse.move(0, 0)
        shown = view.element.locator(".view") if what.alone else lab.page
        if kept:
            _keep(shown.screenshot(), kept)
        lab.save()
        file = server.notebooks / f"{what.notebook}.ipynb"
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        return _html(cells[index])


@contextmanager
def _opened(browser: Browser, server: LabServer, what: Picture) -> Iterator[Lab]:
    page = browser.new_page(viewport=SIZE)
    page.set_default_timeout(_PATIENCE_MS)
    lab = Lab(page, server)
    notebook = json.loads((NOTEBOOKS / f"{what.notebook}.ipynb").read_text("utf-8"))
    if what.more:
        cell = {"cell_type": "code", "id": "more", "metadata": {}, "outputs": []}
        notebook["cells"].append(cell | {"source": what.more, "execution_count": None})
    lab.put(f"{what.notebook}.ipynb", json.dumps(notebook))
    lab.open(f"{what.notebook}.ipynb")
    lab.theme(what.theme)
    lab.start()
    try:
        page.wait_for_function(_DONE, timeout=_RUN_MS)
        yield lab
    finally:
        lab.shut_down_kernel()
        page.close()


def _scroll_to(cell: Locator) -> None:
    """Show the cell from its last lines of code on, and the view whole."""
    cell.locator(".jp-Cell-outputWrapper").evaluate(
        """(output) => {
            const view = output.querySelector(".blsnb-view");
            const frame = output.closest(".jp-WindowedPanel-outer");
            const from = frame.getBoundingClientRect();
            const at = view.getBoundingClientRect();
            const room = Math.max(12, from.height - at.height - 12);
            frame.scrollTop += at.top - from.top - Math.min(room, 130);
        }"""
    )


def _html(cell: dict[str, list[dict[str, dict[str, list[str] | str]]]]) -> str:
    for output in cell["outputs"]:
        html = "".join(output.get("data", {}).get("text/html", ""))
        if "blsnb-run" in html:
            return html
    raise LookupError("no run is shown below this cell")


def _alone(browser: Browser, name: str, html: str, file: Path) -> None:
    """Take an output without a notebook: narrow, or without scripts."""
    file.write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
    width = 600 if name == "narrow" else 1000
    context = browser.new_context(
        viewport={"width": width, "height": 400},
        java_script_enabled=name != "static",
    )
    page = context.new_page()
    page.goto(file.as_uri())
    if name == "narrow":
        _heatmap(View(page))
        page.mouse.move(0, 0)
    else:
        page.get_by_text("Models", exact=True).click()
    _keep(page.screenshot(full_page=True), HERE / f"{name}.png")
    context.close()


def _keep(png: bytes, file: Path) -> None:
    """Write a picture, packed as small as it goes without another colour."""
    packed = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        picture.convert("RGB").save(packed, "PNG", optimize=True)
    size = packed.tell()
    if size > MAX_BYTES:
        raise ValueError(f"{file.name} has {size:,} bytes, more than {MAX_BYTES:,}")
    file.write_bytes(packed.getvalue())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
