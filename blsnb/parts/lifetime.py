"""The lifetime of a server: its state, and the functions that close its parts."""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections.abc import Callable

from blsnb.errors import ServerClosedError

Close = Callable[[], object]
_COPIED = (
    "this process was forked from that of the server, without its threads; make a "
    "blsnb.Server() here, or start the process with the method 'spawn'"
)


class ServerLifetime:
    """Closes the parts of a server once, in the reverse order of their making.

    Parameters
    ----------
    exit_timeout_s
        Maximum seconds for requests in flight to complete when the server is closed.
    """

    def __init__(self, exit_timeout_s: float) -> None:
        self.exit_timeout_s = exit_timeout_s
        self.closed = False
        self.is_copy = False
        """Whether this is the copy of a forked child, which counts as closed."""
        self._end_s = 0.0
        self._closers: dict[Close, None] = {}
        _lifetimes.add(self)

    @property
    def left_s(self) -> float:
        """Remaining seconds for requests in flight of a server that is closing."""
        return max(0.0, self._end_s - time.monotonic())

    def check_open(self) -> None:
        """Raise an error if the server was closed, or is that of a parent process.

        Raises
        ------
        ServerClosedError
            The server was closed, or its process forked this one.
        """
        self.check_process()
        if self.closed:
            raise ServerClosedError

    def check_process(self) -> None:
        """Raise ServerClosedError in a forked child, where requests would wait."""
        if self.is_copy:
            raise ServerClosedError(_COPIED)

    def at_close(self, close: Close) -> Close:
        """Call a function when the server is closed, before earlier registered ones.

        Returns
        -------
        Callable
            Cancels the registration.

        Raises
        ------
        ServerClosedError
            The server was closed already.
        """
        self.check_open()
        self._closers[close] = None
        return lambda: self._closers.pop(close, None)

    def close(self) -> None:
        """Close all parts once; the copy in a forked child counts as closed.

        After Ctrl-C no part waits for requests any longer.
        """
        if self.closed:
            return
        self.closed = True
        self._end_s = time.monotonic() + self.exit_timeout_s
        with contextlib.ExitStack() as stack:
            for close in self._closers:
                stack.callback(self._close, close)
            self._closers = {}

    def _close(self, close: Close) -> None:
        try:
            close()
        except KeyboardInterrupt:
            self._end_s = 0.0
            raise


_lifetimes = weakref.WeakSet[ServerLifetime]()


def _mark_copies() -> None:
    """Mark the servers of the parent process: their threads are not in this one."""
    for lifetime in list(_lifetimes):
        lifetime.closed = lifetime.is_copy = True


os.register_at_fork(after_in_child=_mark_copies)
