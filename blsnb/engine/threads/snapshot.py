"""The threads alive at one moment."""

from __future__ import annotations

import threading


class ThreadSnapshot:
    """All threads alive when it is made, except the calling one."""

    def __init__(self) -> None:
        caller = threading.current_thread()
        self._threads = frozenset(
            thread for thread in threading.enumerate() if thread is not caller
        )

    def has_current(self) -> bool:
        """Whether the calling thread is one of them."""
        return threading.current_thread() in self._threads
