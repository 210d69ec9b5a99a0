"""Bystanders: threads that were there before something began."""

from __future__ import annotations

import threading


class Bystanders:
    """All threads of this moment but the one that asks for them."""

    def __init__(self) -> None:
        mine = threading.current_thread()
        self._threads = frozenset(
            thread for thread in threading.enumerate() if thread is not mine
        )

    def is_running(self) -> bool:
        """Whether the thread that asks is one of them."""
        return threading.current_thread() in self._threads
