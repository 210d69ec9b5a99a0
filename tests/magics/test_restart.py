"""A kernel that is restarted in the midst of a call; its notebook was saved before."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client import KernelManager

from .models import DOUBLE, OUTER, infer

pytestmark = [
    pytest.mark.notebook,
    pytest.mark.filterwarnings("default"),
]
_PATIENCE_S = 90
ENDLESS = OUTER.replace(
    "        answer = inner.exec()\n",
    "        while True:\n            answer = inner.exec()\n",
)


class Kernel:
    """A kernel, and the outputs of its cells as a notebook keeps them."""

    def __init__(self, temporary: Path) -> None:
        self._manager = KernelManager()
        self._manager.start_kernel(extra_arguments=[], env=_environment(temporary))
        self._connect()

    def _connect(self) -> None:
        self._client = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=_PATIENCE_S)

    def start(self, source: str) -> str:
        """Begin to run a cell, and return the number of the request."""
        return self._client.execute(source)

    def outputs(self, request: str, until: Any) -> list[Any]:
        """Return the outputs of a cell, once they are enough."""
        shown: dict[str, Any] = {}
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                message = self._client.get_iopub_msg(timeout=1)
                kind = message["msg_type"]
                if message["parent_header"].get("msg_id") != request:
                    continue
                if kind == "status" and message["content"]["execution_state"] == "idle":
                    break
                _keep(shown, message)
                if until(list(shown.values())):
                    break
        return list(shown.values())

    def run(self, source: str) -> list[Any]:
        """Run a cell to its end, and return its outputs."""
        return self.outputs(self.start(source), lambda found: False)

    def restart(self) -> None:
        """Kill the process and start another one, as a notebook's menu does."""
        self._client.stop_channels()
        self._manager.restart_kernel(now=True)
        self._connect()

    def end(self) -> None:
        """End the process."""
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


def _environment(temporary: Path) -> dict[str, str]:
    import os

    return {**os.environ, "TMPDIR": str(temporary)}


def _keep(shown: dict[str, Any], message: dict[str, Any]) -> None:
    """Keep an output in its place: one that is updated takes the place of the old."""
    kind, content = message["msg_type"], message["content"]
    if kind not in ("display_data", "update_display_data", "stream", "error"):
        return
    transient = content.get("transient", {}).get("display_id")
    header = {**message["header"], "msg_type": kind.removeprefix("update_")}
    message = {**message, "header": header}
    shown[transient or str(len(shown))] = nbformat.v4.output_from_msg(message)


@pytest.fixture
def kernel(tmp_path) -> Iterator[Kernel]:
    """A kernel whose temporary files lie in a folder of their own."""
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
    """The notebook has the run so far; no folder and no process are left."""
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
