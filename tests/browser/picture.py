"""Take the README's picture from a real run: ``python -m browser.picture PATH.png``.

To be run in the folder of the tests, whenever the view has changed its looks.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from . import chromium
from .lab import Lab
from .lab_server import LabServer
from .test_notebook import TUTORIAL
from .view import View

_TO_INPUTS = """(inspector) => {
    const heading = inspector.querySelector("h4");
    inspector.scrollTop = heading.offsetTop - inspector.offsetTop - 12;
}"""


def main(path: Path) -> None:
    """Run the tutorial, look at the portrait that went in, and crop to the view."""
    with (
        tempfile.TemporaryDirectory() as home,
        LabServer(Path(home)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=chromium.executable(), args=chromium.ARGUMENTS
        )
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        lab = Lab(page, server)
        lab.put("tutorial.ipynb", TUTORIAL.read_text(encoding="utf-8"))
        lab.open("tutorial.ipynb")
        lab.run_all()
        view = View(lab.cell(lab.cell_index("hopper")))
        view.row("face_cascade").click()
        view.tensor("IMAGE").click()
        expect(view.picture("IMAGE, 128")).to_be_attached()
        view.inspector.evaluate(_TO_INPUTS)
        page.mouse.move(0, 0)
        view.element.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
