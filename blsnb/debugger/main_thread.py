"""The kernel's main thread, between two cells."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class MainThread:
    """The kernel's main thread, which calls functions between two cells.

    Its loop is that of ipykernel, in releases 6 and 7.

    Parameters
    ----------
    kernel
        The kernel of the shell; None in a terminal.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._running = 0
        """Number of running cells, one inside the other, and of calls in `taken`."""

    @property
    def has_loop(self) -> bool:
        """Whether the kernel has a loop that calls functions between cells."""
        return getattr(self._kernel, "io_loop", None) is not None

    @property
    def is_free(self) -> bool:
        """Whether the caller is on the main thread, and no cell runs there.

        A cell that awaits something lets the loop call functions in the meantime.
        """
        return _is_main() and self._running == 0

    def begin_cell(self, *_: object) -> None:
        """Note that a cell begins; cells of subshells are on other threads."""
        if _is_main():
            self._running += 1

    def end_cell(self, *_: object) -> None:
        """Note that a cell has ended; it may have begun before `watch_cells`."""
        if _is_main():
            self._running = max(0, self._running - 1)

    def submit(self, call: Callable[[], None]) -> None:
        """Call a function on the main thread, between two cells.

        While a cell runs, or without a loop, it is called on this thread at once.
        """
        if not self.has_loop or self._running:
            call()
        else:
            self._kernel.io_loop.add_callback(call)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Count as a running cell: Ctrl-C raises KeyboardInterrupt."""
        before = signal.getsignal(signal.SIGINT)
        self._running += 1
        try:
            # Between cells ipykernel ignores the signal.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            self._running -= 1


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def watch_cells(shell: Any, main: MainThread) -> Callable[[], None]:
    """Notify a main thread of a shell's cells; return a function that ends this."""
    # Not "pre_execute": ipykernel 6 triggers it for messages of comms as well.
    notified = {"pre_run_cell": main.begin_cell, "post_run_cell": main.end_cell}
    for event, note in notified.items():
        shell.events.register(event, note)

    def ignore() -> None:
        for event, note in notified.items():
            shell.events.unregister(event, note)

    return ignore
