"""The lifetime of a server: its state, and the functions that close its parts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from blsnb.errors import ServerClosedError
from blsnb.files.owned import Creator

Close = Callable[[], object]


class ServerLifetime:
    """Closes the parts of a server once, in the reverse order of their making.

    Parameters
    ----------
    exit_timeout_s
        Maximum seconds for requests in flight to complete when the server is closed.
    """

    def __init__(self, exit_timeout_s: float = 30.0) -> None:
        self.exit_timeout_s = exit_timeout_s
        self.closed = False
        self._end_s = 0.0
        self._creator = Creator()
        self._closers: dict[Close, None] = {}

    def __repr__(self) -> str:
        return f"<ServerLifetime: {'closed' if self.closed else 'open'}>"

    @property
    def is_of_this_process(self) -> bool:
        """Whether the server was made in this process, not in its parent."""
        return self._creator.is_current_process

    @property
    def left_s(self) -> float:
        """Remaining seconds for requests in flight of a server that is closing."""
        return max(0.0, self._end_s - time.monotonic())

    def check_open(self) -> None:
        """Raise an error if the server was closed.

        Raises
        ------
        ServerClosedError
            The server was closed.
        """
        if self.closed:
            raise ServerClosedError

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
        """Close all parts once; in a forked child only mark its copy as closed."""
        if self.closed:
            return
        self.closed = True
        self._end_s = time.monotonic() + self.exit_timeout_s
        if not self._creator.is_current_process:
            return
        with contextlib.ExitStack() as stack:
            for close in self._closers:
                stack.callback(close)
            self._closers = {}
