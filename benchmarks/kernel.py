"""Durations of the first cells of a notebook, in a process of its own.

``python -m benchmarks.kernel 10`` defines ten models and prints milliseconds as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from collections.abc import Callable

from IPython.core.interactiveshell import InteractiveShell

from benchmarks.repository import MODELS

SOURCE = (MODELS / "identity" / "1" / "model.py").read_text()
CONFIG = (MODELS / "identity" / "config.pbtxt").read_text()


def main(cells: int) -> None:
    """Load the extension, then define a changed model in each cell."""
    shell = InteractiveShell.instance()
    # As a kernel has, before its first cell.
    shell.run_cell("import ipykernel.ipkernel, numpy")
    found = {"load_ext": timed(lambda: shell.run_line_magic("load_ext", "blsnb"))}
    if not cells:
        print(json.dumps(found))
        return
    with contextlib.redirect_stdout(io.StringIO()):
        found["first"] = timed(lambda: first(shell))
        found["cells"] = [timed(lambda n=n: define(shell, n)) for n in range(cells)]
    print(json.dumps(found))


def first(shell: InteractiveShell) -> None:
    """Run the first cells of a notebook."""
    shell.run_cell(f"%%triton_config identity\n{CONFIG}").raise_error()
    define(shell, -1)


def define(shell: InteractiveShell, number: int) -> None:
    """Run a cell that defines the model, and check that it is ready."""
    result = shell.run_cell(f"%%triton_model identity\n{SOURCE}# {number}\n")
    result.raise_error()
    import blsnb

    assert blsnb.server().model("identity").state == "READY"


def timed(act: Callable[[], object]) -> float:
    """Return the duration of a call in milliseconds."""
    start = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    main(int(sys.argv[1]))
