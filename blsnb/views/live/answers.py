"""Answers to the queries of a page; only the newest query of each slot is served."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

from blsnb.views.documents.buffer import Buffer
from blsnb.views.live.queries import VERSION, Message, QueryError

Work = Callable[[Callable[[], None]], None]
"""Calls a function, now or later on another thread."""
_log = logging.getLogger(__name__)


class Send(Protocol):
    """Sends a message with buffers to the page."""

    def __call__(self, content: Message, buffers: list[bytes]) -> None:
        """Send."""


def at_once(serve: Callable[[], None]) -> None:
    """Serve a query on the thread that received it."""
    serve()


class Answers:
    """Answers the queries of a page, each exactly once.

    Thread-safe. A query that waits while a newer one of its slot arrives is answered
    with the code ``superseded``.

    Parameters
    ----------
    answer
        Returns the answer to a query, or raises `QueryError`. Bytes of the answer are
        added to the buffer.
    send
        Sends an answer.
    work
        Calls a function, now or later on another thread.
    """

    def __init__(
        self,
        answer: Callable[[Message, Buffer], Message],
        send: Send,
        work: Work = at_once,
    ) -> None:
        self._answer_to = answer
        self._send = send
        self._work = work
        self._waiting: deque[Message] = deque()

    def receive(self, query: Message) -> None:
        """Answer a query, which is checked and never evaluated."""
        self._waiting.append(query)
        self._work(self._serve)

    def _serve(self) -> None:
        query = self._waiting.popleft()
        buffer = Buffer()
        try:
            answer = self._answer(query, buffer)
        except QueryError as error:
            return self._reply(query, {"error": error.answer})
        except Exception as error:
            # Without an answer the page would show a busy kernel indefinitely.
            _log.exception("a query failed: %s", query)
            text = f"{type(error).__name__}: {error}"
            return self._reply(query, {"error": {"code": "failed", "text": text}})
        self._reply(query, answer, bytes(buffer))

    def _answer(self, query: Message, buffer: Buffer) -> Message:
        slot = query.get("slot")
        # Copied in one step: another thread may append.
        later = list(self._waiting)
        if slot is not None and slot in [each.get("slot") for each in later]:
            raise QueryError("superseded", "a newer query of its slot is served")
        return self._answer_to(query, buffer)

    def _reply(self, query: Message, answer: Message, data: bytes = b"") -> None:
        head = {"v": VERSION, "type": "answer", "id": query["id"]}
        self._send({**head, **answer}, buffers=[data])
