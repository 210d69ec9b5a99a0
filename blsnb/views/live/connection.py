"""The connection of all pages to the runs that this kernel has displayed."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import anywidget

from blsnb.trace.spans import Trace
from blsnb.views.live.answers import Answers
from blsnb.views.live.queries import VERSION

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
        self._answers = Answers(find, self.send, work)
        self.on_msg(self._on_message)

    def _on_message(self, _: Any, content: Any, buffers: list[Any]) -> None:
        match content:
            case {"type": "hello", "v": v} if v == VERSION:
                release = metadata.version("blsnb")
                said = {"v": VERSION, "type": "welcome", "blsnb": release}
                self.send(said | {"kernel": _KERNEL})
            case {"type": str(), "id": _}:
                self._answers.receive(content)
