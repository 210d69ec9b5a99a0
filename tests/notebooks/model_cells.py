"""The models of a notebook, read from its cells without running it."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ModelCell:
    """One ``%%triton_model`` cell: its first line's options and its model.py."""

    name: str
    options: tuple[str, ...]
    source: str


def code_cells(notebook: Path) -> list[dict[str, object]]:
    """The notebook's code cells, each with its ``source`` as one text."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [
        {**cell, "source": "".join(cell["source"])}
        for cell in cells
        if cell["cell_type"] == "code"
    ]


def model_cells(notebook: Path) -> dict[str, ModelCell]:
    """The models that the notebook defines, by name, in its order."""
    found = (
        ModelCell(name, tuple(options), body)
        for (name, *options), body in _magic_cells(notebook, "triton_model")
    )
    return {cell.name: cell for cell in found}


def file_cells(notebook: Path) -> dict[str, str]:
    """The files that the notebook puts beside its models, by their path."""
    return {path: body for (path,), body in _magic_cells(notebook, "triton_file")}


def _magic_cells(notebook: Path, magic: str) -> list[tuple[list[str], str]]:
    """Arguments and body of the cells that one magic owns, as IPython splits them."""
    found = []
    for cell in code_cells(notebook):
        first, _, body = str(cell["source"]).partition("\n")
        if match := re.fullmatch(rf"%%{magic}\s+(.*)", first):
            found.append((shlex.split(match[1]), body + "\n"))
    return found
