"""Take the pictures of ``docs/day.md``: ``python -m docs.gallery.day``.

The repository is the one that the tutorial *Your repository, both ways* writes. What
is not as the page says fails here.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from PIL import Image
from playwright.sync_api import ViewportSize, expect, sync_playwright

from docs.gallery.notebook_page import NotebookPage
from tests.browser import chromium
from tests.browser.lab import Lab
from tests.browser.lab_server import LabServer
from tests.browser.panel.panel import Panel
from tests.browser.test_debugger import Debugger
from tests.browser.view import View

DOCS = Path(__file__).parents[1]
PICTURES = DOCS / "images" / "day"
TUTORIAL = DOCS.parent / "notebooks" / "02_your_repository.ipynb"
SIZE: ViewportSize = {"width": 1120, "height": 700}
MAX_BYTES = 65_000
NOTEBOOK = "day.ipynb"
PATIENCE_MS = 60_000
FRENCH = """import blsnb
blsnb.infer("review", {"TEXT": ["Merveilleux !"], "LANGUAGE": ["fr"]})"""
DEAD, FIXED = '"translator"', '"translate"'
ANSWER = """                )
            )[0]
"""
TENSOR = '            text = pb_utils.Tensor("TEXT", text.as_numpy())\n'
_CONTINUE = """() => jupyterapp.commands.isEnabled("debugger:continue")
    && jupyterapp.commands.execute("debugger:continue").then(() => 0)"""


def cells() -> dict[str, str]:
    """Return the sources of the tutorial's cells by id."""
    notebook = json.loads(TUTORIAL.read_text(encoding="utf-8"))
    return {cell["id"]: cell["source"] for cell in notebook["cells"]}


def write_repository(folder: Path) -> None:
    """Write the tutorial's repository, as its cell does."""
    names: dict[str, Path] = {}
    with redirect_stdout(io.StringIO()):
        exec(cells()["repository"], names)
    shutil.move(names["models"], folder)


class Day:
    """A day of a user: each method does something, and keeps a picture of it.

    Parameters
    ----------
    lab
        The page.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._notebook = NotebookPage(lab)
        self._panel: Panel
        self._debugger = Debugger(lab)

    def take(self, name: str) -> None:
        """Keep a picture of the page, in few colours."""
        self._lab.page.mouse.move(0, 0)
        packed = io.BytesIO()
        with Image.open(io.BytesIO(self._lab.page.screenshot())) as picture:
            small = picture.convert("RGB").quantize(
                256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
            )
            small.save(packed, "PNG", optimize=True)
        size = packed.tell()
        if size > MAX_BYTES:
            raise ValueError(f"{name}: {size:,} bytes, more than {MAX_BYTES:,}")
        (PICTURES / f"{name}.png").write_bytes(packed.getvalue())

    def import_it(self) -> None:
        """Import the repository; the panel lists its models."""
        lab = self._lab
        lab.write(NOTEBOOK, "%load_ext blsnb", "%triton import models")
        lab.open(NOTEBOOK)
        self._panel = Panel(lab)
        self._notebook.run(0, 1)
        expect(self._panel.row("review").locator(".state")).to_have_text("ready")
        self.take("1-import")

    def find_the_dead_target(self) -> None:
        """Look at the graph: a model is called that no folder has."""
        self._panel.tab("Graph")
        expect(self._panel.node).to_contain_text("calls model 'translator'")
        self._notebook.add(2, FRENCH)
        self._notebook.run(2)
        self._notebook.show(2, ".blsnb-run")
        self.take("2-graph")

    def edit(self) -> None:
        """Bring the model into the notebook, and correct the name."""
        self._panel.tab("Models")
        self._panel.act("review", "Edit")
        expect(self._panel.status).to_have_text("2 cells were inserted.")
        self._notebook.replace(4, DEAD, FIXED)
        self._notebook.run(3, 4)
        expect(self._panel.row("review")).to_contain_text("cells differ")
        self._notebook.show(4, ".jp-InputArea")
        self.take("3-edit")

    def break_it(self) -> None:
        """Send the request again: another error, and another call that fails."""
        self._notebook.add(5, FRENCH)
        self._notebook.run(5)
        view = View(self._lab.cell(5))
        view.row("rating").click()
        self._panel.tab("Runs")
        expect(self._panel.row("review")).to_have_count(2)
        self._notebook.show(5, ".blsnb-run")
        self.take("4-break")

    def step_through_it(self) -> None:
        """Stop in the failed run; the variables have the tensor's wrong name."""
        self._debugger.switch_on()
        line = self._notebook.line(4, "stars = ")
        self._lab.cell(4).locator(".cm-line").nth(line - 1).scroll_into_view_if_needed()
        self._debugger.click_gutter(4, line)
        self._lab.command("blsnb:debug-run")
        frames = self._lab.page.locator(".jp-DebuggerCallstackFrame")
        expect(frames.first).to_contain_text("execute (review")
        self._lab.command("debugger:continue")
        expect(frames.first).to_contain_text("answer (review")
        expect(self._debugger.variables).to_contain_text("text")
        self.take("5-debug")
        # A statement of several lines stops at its first line once more.
        while "has run again" not in self._panel.status.inner_text():
            self._lab.page.evaluate(_CONTINUE)
            self._lab.page.wait_for_timeout(500)
        self._debugger.switch_off()
        self._lab.page.evaluate("jupyterapp.shell.collapseRight()")

    def compare(self) -> None:
        """Give the tensor its name, and compare the runs before and after."""
        self._notebook.replace(4, ANSWER, f"{ANSWER}{TENSOR}")
        # A request is slow while lines of its model are new to the debugger.
        self._notebook.run(4, 5, 5)
        self._compare()
        self.take("6-compare")

    def write_back(self) -> None:
        """Look at the difference, and write it into the folder."""
        self._lab.page.get_by_role("tab", name=NOTEBOOK).click()
        self._panel.tab("Models")
        self._panel.act("review", "Diff")
        self._panel.act("review", "Write to folder")
        expect(self._panel.status).to_contain_text("has what its cells changed")
        self._notebook.show(6, ".jp-OutputArea-output")
        self.take("7-export")

    def look_at_git(self) -> None:
        """Show the changed lines, and that there are no others."""
        self._notebook.add(7, "%%bash\ngit -C models diff")
        self._notebook.run(7)
        self._notebook.show(7, ".jp-OutputArea-output")
        self.take("8-git")

    def _compare(self) -> None:
        self._panel.tab("Runs")
        newest = self._panel.node.get_by_role("listitem").first
        newest.locator(".toggle").click()
        newest.get_by_role("combobox").select_option(index=3)
        view = View(self._lab.page.locator(".blsnb-tab:visible"))
        view.row("translate").first.wait_for()


def main() -> None:
    """Take all pictures."""
    expect.set_options(timeout=PATIENCE_MS)
    PICTURES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        LabServer(Path(home), panel=True) as server,
        sync_playwright() as playwright,
    ):
        write_repository(server.notebooks / "models")
        browser = playwright.chromium.launch(
            executable_path=chromium.executable(), args=chromium.ARGUMENTS
        )
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(PATIENCE_MS)
        spend(Day(Lab(page, server)))
        changed = server.notebooks / "models"
        print(subprocess.run(["git", "diff", "--stat"], cwd=changed, check=True))
        browser.close()


def spend(day: Day) -> None:
    """Do everything that the page shows, in its order."""
    day.import_it()
    day.find_the_dead_target()
    day.edit()
    day.break_it()
    day.step_through_it()
    day.compare()
    day.write_back()
    day.look_at_git()


if __name__ == "__main__":
    main()
