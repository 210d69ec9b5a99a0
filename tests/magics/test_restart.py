"""A kernel that is restarted in the midst of a call; its notebook was saved before."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from .kernels import Kernel
from .models import DOUBLE, OUTER, infer

pytestmark = [
    pytest.mark.notebook,
    pytest.mark.filterwarnings("default"),
]
ENDLESS = OUTER.replace(
    "        answer = inner.exec()\n",
    "        while True:\n            answer = inner.exec()\n",
)


@pytest.fixture
def kernel(tmp_path) -> Iterator[Kernel]:
    """A kernel whose temporary files are in a separate folder."""
    (tmp_path / "temporary").mkdir()
    kernel = Kernel(tmp_path / "temporary")
    yield kernel
    kernel.end()


def processes(folder: Path) -> list[str]:
    """Return the processes with a folder in their arguments, except kernels."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            line = (file.parent / "cmdline").read_bytes().decode(errors="replace")
            if str(folder).encode() in file.read_bytes():
                found.append(line.replace("\0", " "))
    return [line for line in found if "ipykernel_launcher" not in line]


def test_a_kernel_restarted_in_the_midst_of_a_call(kernel, tmp_path):
    """The notebook has the run so far; no folder and no process remain."""
    temporary = tmp_path / "temporary"
    for source in ("%load_ext blsnb", DOUBLE, ENDLESS):
        assert not [out for out in kernel.run(source) if out.output_type == "error"]
    (folder,) = temporary.glob("blsnb-models-*")
    running = kernel.start(infer("outer"))

    outputs = kernel.outputs(
        running, lambda found: any("blsnb-run" in str(out) for out in found)
    )
    cell = nbformat.v4.new_code_cell(infer("outer"), outputs=outputs)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "saved.ipynb")
    saved = nbformat.read(tmp_path / "saved.ipynb", as_version=4)
    nbformat.validate(saved)
    (shown,) = (out for out in saved.cells[0].outputs if "blsnb-run" in str(out))
    assert "outer" in shown.data["text/plain"]
    assert folder.is_dir()

    kernel.restart()
    for source in ("%load_ext blsnb", DOUBLE):
        assert not [out for out in kernel.run(source) if out.output_type == "error"]
    assert not folder.exists()
    assert 1 == len(list(temporary.glob("blsnb-*")))
    assert [] == processes(temporary)
