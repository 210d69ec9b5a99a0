"""The connection of one page's panel to the kernel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from blsnb.panel.changes import Changes, Rows
from blsnb.views.live.answers import Answers, Work
from blsnb.views.live.connection import welcome
from blsnb.views.live.queries import VERSION, Message

LISTS = ("models", "runs", "logs", "notes")
"""What a page can watch."""
Answer = Callable[[Message, Any], Message]


class PanelConnection:
    """Receives the messages of a page, and sends it what changed.

    Parameters
    ----------
    comm
        The Jupyter comm that the page opened.
    actions
        Names of the actions that pages may ask for.
    answer
        Answers a request, or raises `QueryError`.
    watched
        Called after the page said what it watches.
    work
        Calls a function later on another thread, so that no cell waits for answers.
    apart
        How to call what answers an action that may take long, by the action's name.
    """

    def __init__(
        self,
        comm: Any,
        actions: Collection[str],
        answer: Answer,
        watched: Callable[[], None],
        work: Work,
        apart: Mapping[str, Work],
    ) -> None:
        self._comm = comm
        self._actions = actions
        self._answers = Answers(answer, self._send, work)
        # The other answers do not wait for these.
        self._apart = {
            name: Answers(answer, self._send, each) for name, each in apart.items()
        }
        self._watched = watched
        self._changes: Mapping[str, Changes] = {}

    @property
    def watches(self) -> frozenset[str]:
        """The lists that the page shows."""
        return frozenset(self._changes)

    def receive(self, message: Any) -> None:
        """Handle a message of the page, which is checked and never evaluated."""
        match message:
            case {"type": "hello", "v": v} if v == VERSION:
                self._send({**welcome(), "actions": list(self._actions)}, [])
            case {"type": "watch", "v": v, "what": list(what)} if v == VERSION:
                if not message.get("again"):
                    self._changes = {each: Changes() for each in LISTS if each in what}
                self._watched()
            case {"type": str(), "id": _}:
                name = str(message.get("name"))
                self._apart.get(name, self._answers).receive(dict(message))

    def show(self, lists: Mapping[str, Rows]) -> None:
        """Send the rows that are new or changed since the last call."""
        for name, changes in dict(self._changes).items():
            message = changes.message(lists[name]) if name in lists else None
            if message is not None:
                self._send({"v": VERSION, "type": name, **message}, [])

    def close(self) -> None:
        """Close the comm; the page then asks for blsnb again."""
        self._changes = {}
        self._comm.close()

    def _send(self, content: Message, buffers: list[bytes]) -> None:
        self._comm.send(content, buffers=buffers)
