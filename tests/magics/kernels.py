"""A kernel in a process of its own, driven as by a notebook."""

from __future__ import annotations

import contextlib
import os
import queue
import time
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client import KernelManager

_PATIENCE_S = 90
_KEY_REPEAT_S = 0.03


class Kernel:
    """A kernel and the outputs of its cells as a notebook stores them."""

    def __init__(self, temporary: Path) -> None:
        self.updates: list[Any] = []
        """Outputs of earlier cells that were updated while another cell ran."""
        self._cells: dict[str, str] = {}
        """The request of the cell that shows a display, by the display's identifier."""
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
        """Return the outputs of a cell, once a condition holds."""
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
                self._keep(shown, request, message)
                if until(list(shown.values())):
                    break
        return list(shown.values())

    def _keep(self, shown: dict[str, Any], request: str, message: Any) -> None:
        """Store an output; an updated output replaces the old one where that stands."""
        kind, content = message["msg_type"].removeprefix("update_"), message["content"]
        if kind not in ("display_data", "execute_result", "stream", "error"):
            return
        header = {**message["header"], "msg_type": kind}
        output = nbformat.v4.output_from_msg({**message, "header": header})
        display = content.get("transient", {}).get("display_id")
        if message["msg_type"] == kind:
            self._cells[display] = request
        elif self._cells.get(display) != request:
            self.updates.append(output)
            return
        shown[display or str(len(shown))] = output

    def run(self, source: str) -> list[Any]:
        """Run a cell to its end, and return its outputs."""
        return self.outputs(self.start(source), lambda found: False)

    def interrupt(self) -> None:
        """Send SIGINT, as a notebook's stop button does."""
        self._manager.interrupt_kernel()

    @property
    def pid(self) -> int:
        """Identifier of the process."""
        pid: int = self._manager.provisioner.pid
        return pid

    def pause(self, presses: int) -> None:
        """Wait as a keyboard does before it repeats a key."""
        with contextlib.suppress(queue.Empty):
            if presses:
                self._client.get_stdin_msg(timeout=_KEY_REPEAT_S)

    def restart(self, now: bool = True) -> None:
        """Start another process, as a notebook's menu does.

        Parameters
        ----------
        now
            Whether the old one is killed; else it may end itself.
        """
        self._client.stop_channels()
        self._manager.restart_kernel(now=now)
        self._connect()

    def end(self) -> None:
        """End the process."""
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


def seconds_without_cpu(*pids: int) -> float:
    """Return how long the main threads of processes have waited for a processor.

    0 where the kernel of the machine does not count it.
    """
    total_ns = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total_ns += int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])
    return total_ns / 1e9


def _environment(temporary: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(temporary)}
