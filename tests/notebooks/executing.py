"""A tutorial, executed as a reader does it, and what it leaves behind."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

CELL_S = 120
MAY_FAIL = "raises-exception"
"""The tag of a cell that fails on purpose; Jupyter continues after it."""
LEAVE = """
import blsnb

blsnb.server().export_repository({models!r})
for name, value in list(globals().items()):
    run = getattr(value, "run", value)
    if isinstance(run, blsnb.Run) and not name.startswith("_"):
        run.save({runs!r} + "/" + name + ".blsrun")
"""


class Executed(NamedTuple):
    """What a Run All in a fresh kernel gave."""

    notebook: NotebookNode
    cells: list[NotebookNode]
    """The notebook's code cells, with their outputs."""
    seconds: float
    models: Path
    """A model repository with the models that the notebook left loaded."""
    runs: Path
    """A folder with the runs that have a name in the notebook, or whose stream has."""

    @property
    def outputs(self) -> list[NotebookNode]:
        """The outputs of all cells."""
        return [output for cell in self.cells for output in cell.outputs]


def execute(path: Path, folder: Path) -> Executed:
    """Run all cells in a fresh kernel, in an empty folder, then export the models."""
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    places = {name: folder / name for name in ("work", "models", "runs")}
    for place in places.values():
        place.mkdir()
    leave = LEAVE.format(models=str(places["models"]), runs=str(places["runs"]))
    notebook.cells.append(nbformat.v4.new_code_cell(leave))
    start = time.perf_counter()
    NotebookClient(
        notebook,
        timeout=CELL_S,
        allow_errors=True,
        resources={"metadata": {"path": str(places["work"])}},
    ).execute()
    seconds = time.perf_counter() - start
    return Executed(notebook, cells, seconds, places["models"], places["runs"])


def complaint(output: NotebookNode) -> str:
    """Return the error of a cell; empty if it succeeded."""
    if output.output_type == "error":
        return "\n".join(output.traceback)
    return output.text if output.get("name") == "stderr" else ""
