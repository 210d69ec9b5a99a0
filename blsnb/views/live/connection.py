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
from blsnb.views.live.answers import Answers
from blsnb.views.live.queries import VERSION, Message, answer_about

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
    """

    _esm = CODE

    def __init__(
        self,
        find: Callable[[str], Trace],
        work: Callable[[Callable[[], None]], None],
    ) -> None:
        super().__init__()
        self._answers = Answers(partial(answer_about, find), self.send, work)
        self.on_msg(self._on_message)

    def _on_message(self, _: Any, content: Any, buffers: list[Any]) -> None:
        match content:
            case {"type": "hello", "v": v} if v == VERSION:
                self.send(welcome())
            case {"type": str(), "id": _}:
                self._answers.receive(content)


def welcome() -> Message:
    """Return the reply to the first message of a page."""
    release = metadata.version("blsnb")
    return {"v": VERSION, "type": "welcome", "blsnb": release, "kernel": _KERNEL}
