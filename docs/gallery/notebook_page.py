"""A notebook in JupyterLab whose cells a script edits and runs."""

from __future__ import annotations

from tests.browser.lab import Lab

_CONTENT = "jupyterapp.shell.currentWidget.content"


class NotebookPage:
    """The open notebook of a page.

    Parameters
    ----------
    lab
        The page.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def add(self, index: int, source: str) -> None:
        """Insert a cell below the one before it."""
        self._lab.page.evaluate(f"{_CONTENT}.activeCellIndex = {index - 1}")
        self._lab.command("notebook:insert-cell-below")
        self.write(index, source)

    def write(self, index: int, source: str) -> None:
        """Set the source of a cell."""
        model = f"{_CONTENT}.widgets[{index}].model.sharedModel"
        self._lab.page.evaluate(f"source => {model}.setSource(source)", source)

    def replace(self, index: int, old: str, new: str) -> None:
        """Replace a text that a cell has once."""
        model = f"{_CONTENT}.widgets[{index}].model.sharedModel"
        source = self._lab.page.evaluate(f"{model}.source")
        if source.count(old) != 1:
            raise ValueError(f"cell {index} has {source.count(old)} of {old!r}")
        self.write(index, source.replace(old, new))

    def line(self, index: int, text: str) -> int:
        """Return the number of the first line of a cell that has a text."""
        source = f"{_CONTENT}.widgets[{index}].model.sharedModel.source"
        lines = self._lab.page.evaluate(source).split("\n")
        found: int = next(n for n, line in enumerate(lines, 1) if text in line)
        return found

    def run(self, *indices: int) -> None:
        """Run cells, which may fail."""
        for index in indices:
            cell = f"{_CONTENT}.widgets[{index}].model"
            before = self._lab.page.evaluate(f"{cell}.executionCount ?? 0")
            self._lab.page.evaluate(f"{_CONTENT}.activeCellIndex = {index}")
            self._lab.command("notebook:run-cell")
            self._lab.page.wait_for_function(
                f"({cell}.executionCount ?? 0) > {before}"
                f" && {cell}.executionState !== 'running'"
            )

    def show(self, index: int, part: str) -> None:
        """Scroll to a part of a cell."""
        shown = self._lab.cell(index).locator(part).first
        shown.wait_for()
        shown.evaluate("element => element.scrollIntoView({ block: 'start' })")
