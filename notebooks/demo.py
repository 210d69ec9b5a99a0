"""Run a tutorial without a browser and keep what it showed as a web page.

``python notebooks/demo.py NOTEBOOK.ipynb PAGE.html``
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter
from traitlets.config import Config

RUN_MARK = 'class="blsnb-run"'
CELL_S = 120


def main() -> int:
    """Run the notebook, check that it shows its runs, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebook", type=Path)
    parser.add_argument("page", type=Path)
    given = parser.parse_args()
    start = time.perf_counter()
    notebook = nbformat.read(given.notebook, as_version=4)
    say(f"Running {given.notebook} in a kernel of its own:")
    try:
        run(notebook)
    except CellExecutionError as error:
        print(error, file=sys.stderr)
        return 1
    say(f"Ran in {time.perf_counter() - start:.1f} s; every assertion in it held.")
    runs, pictures = shown(notebook)
    if not (runs and pictures):
        print(
            f"The executed notebook shows {runs} runs and {pictures} pictures; "
            "it should show some of each.",
            file=sys.stderr,
        )
        return 1
    write_page(notebook, given.page)
    say(f"Wrote {given.page}; runs to look into: {runs}, pictures: {pictures}.")
    say(f"Open it in a browser: {given.page.resolve().as_uri()}")
    return 0


def run(notebook: Any) -> None:
    """Execute the cells, naming each as it begins."""
    total = sum(cell.cell_type == "code" for cell in notebook.cells)
    numbers = iter(range(1, total + 1))

    def announce(cell: Any, **_: Any) -> None:
        if cell.cell_type == "code":
            first = cell.source.partition("\n")[0].partition(" --")[0]
            say(f"  {next(numbers):2}/{total}  {cell.id:12} {first[:60]}")

    # Over sockets in the file system: over TCP a kernel warns that others may listen.
    local = Config(KernelManager={"transport": "ipc"})
    NotebookClient(
        notebook, timeout=CELL_S, on_cell_start=announce, config=local
    ).execute()


def shown(notebook: Any) -> tuple[int, int]:
    """Count the runs and the pictures that the notebook holds now."""
    bundles = list(outputs(notebook))
    runs = sum(RUN_MARK in bundle.get("text/html", "") for bundle in bundles)
    return runs, sum("image/png" in bundle for bundle in bundles)


def outputs(notebook: Any) -> Iterator[Any]:
    """Yield the outputs of all cells, each by the types it can be shown as."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            yield output.get("data", {})


def write_page(notebook: Any, page: Path) -> None:
    """Write the notebook as one page that needs neither kernel nor network."""
    exporter = HTMLExporter(mathjax_url="", require_js_url="", jquery_url="")
    html, _ = exporter.from_notebook_node(notebook)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(html, encoding="utf-8")


def say(text: str) -> None:
    """Print at once, also into a pipe."""
    print(text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
