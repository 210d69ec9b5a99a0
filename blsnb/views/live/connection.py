"""The connection of all pages to the runs that this kernel has displayed."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import anywidget

from blsnb.trace.spans import Trace
from blsnb.views.live.answers import Answers, Work
from blsnb.views.live.queries import VERSION, Message, answer_about, debug_answer

CODE = Path(__file__).parent.parent / "static" / "connection.js"
_KERNEL = uuid.uuid4().hex
"""Id of the lifetime of this kernel."""


class Connection(anywidget.AnyWidget):
    """A widget without a view: pages create it, and their documents find it.

    Parameters
    ----------
    find
        Returns the trace of a page id, or raises `QueryError`.
    work
        Calls a function later on another thread, so that no cell waits for answers.
    debug
        Executes the call of a page id and a call id again, in the debugger, and
        returns a sentence; or raises `QueryError`.
    debug_work
        Calls a function on the thread that may execute calls, or at once.
    """

    _esm = CODE

    def __init__(
        self,
        find: Callable[[str], Trace],
        work: Work,
        debug: Callable[[str, int], str],
        debug_work: Work,
    ) -> None:
        super().__init__()
        self._answers = Answers(partial(answer_about, find), self.send, work)
        # Apart from the answers: these do not wait while a call is stopped.
        self._actions = Answers(
            lambda query, _: debug_answer(find, debug, query), self.send, debug_work
        )
        self.on_msg(self._on_message)

    def _on_message(self, _: Any, content: Any, buffers: list[Any]) -> None:
        match content:
            case {"type": "hello", "v": v} if v == VERSION:
                self.send(welcome())
            case {"type": "action", "id": _}:
                self._actions.receive(content)
            case {"type": str(), "id": _}:
                self._answers.receive(content)


def welcome() -> Message:
    """Return the reply to the first message of a page."""
    release = metadata.version("blsnb")
    return {"v": VERSION, "type": "welcome", "blsnb": release, "kernel": _KERNEL}
