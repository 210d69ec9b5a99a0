"""Requests of a front end to the kernel's debugger, extended to models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blsnb.magics.debugging.cell_debugger import CellDebugger

if TYPE_CHECKING:
    from blsnb.magics.debugging.cell_lines import CellLines

Message = dict[str, Any]
Handler = Callable[[Message], Awaitable[Message]]
_STEPS = ("continue", "next", "stepIn", "stepOut")
_DESCRIBED = {
    "Tensor": "",
    "InferenceRequest": "request ",
    "InferenceResponse": "response ",
}
"""Types whose values have descriptions, and the beginnings of these."""
_NO_CODE = "there is no code on this line or above it in the cell"


class KernelRequests:
    """Handles the requests that concern models, around the kernel's own handlers.

    Parameters
    ----------
    handlers
        The kernel's handlers by command.
    forward
        Handles all other commands.
    debugger
        Maps cells to the files of models.
    """

    def __init__(
        self, handlers: dict[str, Handler], forward: Handler, debugger: CellDebugger
    ) -> None:
        self._handlers = handlers
        self._forward = forward
        self._debugger = debugger
        self._own = {
            "setBreakpoints": self._set_breakpoints,
            "stackTrace": self._stack_trace,
            "variables": self._variables,
        }
        self._replaced: dict[str, Handler] = {}

    def take_part(self) -> None:
        """Replace the kernel's handlers."""
        for command, handler in self._own.items():
            if command in self._handlers:
                self._replaced[command] = self._handlers[command]
                self._handlers[command] = handler
        for command in _STEPS:
            self._replaced[command] = self._handlers.get(command, self._forward)
            self._handlers[command] = self._step

    def leave(self) -> None:
        """Restore the kernel's handlers."""
        for command, handler in self._replaced.items():
            if handler == self._forward:
                self._handlers.pop(command, None)
            else:
                self._handlers[command] = handler
        self._replaced.clear()

    async def _step(self, message: Message) -> Message:
        command = message["command"]
        instead = self._debugger.steps.request(command)
        reply = await self._replaced[instead]({**message, "command": instead})
        return {**reply, "command": command}

    async def _set_breakpoints(self, message: Message) -> Message:
        # Deferred: loading the extension must not import it.
        from blsnb.magics.debugging.cell_lines import CellLines

        arguments = message["arguments"]
        path, given = arguments["source"]["path"], arguments.get("breakpoints") or []
        text = _text_of(path)
        self._debugger.note_opened(path, text)
        self._debugger.synchronize()
        lines = CellLines(text)
        unbound = self._moved(lines, given) if lines.is_ours else {}
        reply = await self._replaced["setBreakpoints"](message)
        replied = (reply.get("body") or {}).get("breakpoints") or []
        for number, reason in unbound.items():
            if number < len(replied):
                replied[number] |= {"verified": False, "message": reason}
        return reply

    def _moved(self, lines: CellLines, given: list[Message]) -> dict[int, str]:
        """Move breakpoints to lines with code; return why others stop nowhere."""
        unbound = {}
        for number, each in enumerate(given):
            line = lines.bound(each["line"])
            if self._debugger.refusal or line is None:
                unbound[number] = self._debugger.refusal or _NO_CODE
            else:
                each["line"] = line
        return unbound

    async def _stack_trace(self, message: Message) -> Message:
        reply = await self._replaced["stackTrace"](message)
        for frame in (reply.get("body") or {}).get("stackFrames") or []:
            cell = self._debugger.name_of((frame.get("source") or {}).get("path") or "")
            if cell:
                frame["name"] = f"{frame['name']} ({cell})"
        return reply

    async def _variables(self, message: Message) -> Message:
        """Describe values also as their type: a tree of variables shows only that."""
        reply = await self._replaced["variables"](message)
        for each in (reply.get("body") or {}).get("variables") or []:
            kind, text = each.get("type"), each.get("value") or ""
            if kind in _DESCRIBED and not text.startswith("<"):
                each["type"] = f"{kind} {text.removeprefix(_DESCRIBED[kind])}"
        return reply


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, ValueError):
        return ""


def register(shell: Any, debugger: CellDebugger) -> Callable[[], None]:
    """Take part in the debugger of a shell's kernel; return a function that ends it."""
    original = getattr(getattr(shell, "kernel", None), "debugger", None)
    handlers = getattr(original, "started_debug_handlers", None)
    forward = getattr(original, "_forward_message", None)
    if not isinstance(handlers, dict) or forward is None:
        return lambda: None
    requests = KernelRequests(handlers, forward, debugger)
    requests.take_part()
    return requests.leave
