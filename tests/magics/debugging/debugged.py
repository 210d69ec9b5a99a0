"""A kernel whose debugger is driven as JupyterLab drives it."""

from __future__ import annotations

import contextlib
import queue
import time
from typing import Any

from ..kernels import Kernel

_PATIENCE_S = 60


class DebuggedKernel(Kernel):
    """A kernel, the requests of its debugger, and its stops."""

    _sequence = 0
    _is_attached = False

    def debug(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a debug request on the control channel and return its reply."""
        self._sequence += 1
        request = {
            "type": "request",
            "seq": self._sequence,
            "command": command,
            "arguments": arguments,
        }
        sent = self._client.session.msg("debug_request", request)
        self._client.control_channel.send(sent)
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                reply = self._client.get_control_msg(timeout=1)
                if reply["parent_header"].get("msg_id") == sent["header"]["msg_id"]:
                    content: dict[str, Any] = reply["content"]
                    return content
        raise AssertionError(f"no reply to {command}")

    def attach(self, **client: Any) -> None:
        """Switch the debugger on, as JupyterLab or another client."""
        jupyterlab = {
            "clientID": "jupyterlab",
            "adapterID": "",
            "pathFormat": "path",
            "linesStartAt1": True,
            "columnsStartAt1": True,
        }
        self.debug("initialize", **{**jupyterlab, **client})
        self.debug("attach")
        self._is_attached = True

    def detach(self) -> None:
        """Switch the debugger off; without one the kernel would not answer."""
        if self._is_attached:
            self.debug("disconnect", restart=False, terminateDebuggee=False)
        self._is_attached = False

    def set_dots(self, cell: str, *lines: int, **how: Any) -> list[dict[str, Any]]:
        """Set the breakpoints of a cell, as a click on its gutter does."""
        self.path_of(cell)
        reply = self.debug(
            "setBreakpoints",
            source={"path": self.path_of(cell)},
            breakpoints=[{"line": line, **how} for line in lines],
            sourceModified=False,
        )
        self.debug("configurationDone")
        found: list[dict[str, Any]] = reply["body"]["breakpoints"]
        return found

    def path_of(self, cell: str) -> str:
        """Return the path of the file to which a cell's text is dumped."""
        path: str = self.debug("dumpCell", code=cell)["body"]["sourcePath"]
        return path

    def stop_of(self, request: str) -> int | None:
        """Wait for the next stop, or for a cell's end; return the thread that stops."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                message = self._client.get_iopub_msg(timeout=1)
                kind, content = message["msg_type"], message["content"]
                if kind == "debug_event" and content["event"] == "stopped":
                    thread: int = content["body"]["threadId"]
                    return thread
                is_own = message["parent_header"].get("msg_id") == request
                if is_own and kind == "error":
                    raise AssertionError("\n".join(content["traceback"]))
                state = content.get("execution_state")
                if is_own and kind == "status" and state == "idle":
                    return None
        raise AssertionError("the cell neither stops nor ends")

    def stack(self, thread: int) -> list[dict[str, Any]]:
        """Return the frames of a stopped thread, the innermost first."""
        frames = self.debug("stackTrace", threadId=thread)["body"]["stackFrames"]
        assert isinstance(frames, list)
        return frames

    def step(self, how: str, thread: int, request: str) -> int | None:
        """Step or continue; return the thread of the next stop, None at the end."""
        self.debug(how, threadId=thread)
        return self.stop_of(request)

    def where(self, thread: int) -> tuple[str, int]:
        """Return the path and line at which a thread stops."""
        frame = self.stack(thread)[0]
        return frame["source"]["path"], frame["line"]

    def variables(self, thread: int) -> dict[str, dict[str, Any]]:
        """Return the local variables of a stopped thread by name."""
        frame = self.stack(thread)[0]["id"]
        scopes = self.debug("scopes", frameId=frame)["body"]["scopes"]
        return self.below(scopes[0])

    def below(self, variable: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the parts of a variable by name."""
        reference = variable["variablesReference"]
        reply = self.debug("variables", variablesReference=reference)
        return {each["name"]: each for each in reply["body"]["variables"]}

    def logged(self, source: str) -> str:
        """Run a cell that does not stop, and return the lines of its logpoints."""
        request, lines = self.start(source), ""
        has_ended = False
        deadline = time.monotonic() + _PATIENCE_S
        while not (lines and has_ended):
            assert time.monotonic() < deadline, "the cell does not log, or end"
            with contextlib.suppress(queue.Empty):
                message = self._client.get_iopub_msg(timeout=1)
                kind, content = message["msg_type"], message["content"]
                assert content.get("event") != "stopped"
                if kind == "debug_event" and content["event"] == "output":
                    lines += _logged_in(content["body"])
                # The line and the end of the cell arrive in any order.
                is_own = message["parent_header"].get("msg_id") == request
                has_ended |= is_own and content.get("execution_state") == "idle"
        return lines

    def hold(self, seconds: float) -> None:
        """Let the process stay stopped."""
        with contextlib.suppress(queue.Empty):
            self._client.get_stdin_msg(timeout=seconds)

    def finish(self, thread: int | None, request: str) -> None:
        """Continue until the cell has ended."""
        while thread is not None:
            thread = self.step("continue", thread, request)

    def stops_of(self, source: str) -> list[tuple[str, int]]:
        """Run a cell to its end, and return the places of its stops."""
        request = self.start(source)
        found = []
        thread = self.stop_of(request)
        while thread is not None:
            found.append(self.where(thread))
            thread = self.step("continue", thread, request)
        return found


def _logged_in(output: dict[str, Any]) -> str:
    """Return the text of a logpoint; the adapter reports its version likewise."""
    is_report = output.get("category") == "telemetry"
    return "" if is_report else str(output["output"])
