"""Connections of a port: accepted up to a limit, and closed to make room."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from tornado.http1connection import HTTP1ServerConnection
from tornado.httpserver import HTTPServer

from blsnb.serving.core.shortage import is_shortage
from blsnb.serving.ports import max_connections

C = TypeVar("C", bound=Hashable)
STALLED_S = 10.0
"""Seconds without a byte after which an incomplete request counts as abandoned."""
_ACCEPTED_AT_ONCE = 128
"""Maximum number of connections accepted before others are served."""
_PAUSE_S = 0.2
"""Seconds until the next attempt to accept when no descriptor is left."""
_HELD_S = 0.02
"""Seconds until a thread that has responded returns its connection as idle."""
_MAX_HELD = 16
"""Maximum number of connections that wait for that beyond the limit."""


class Connections(Generic[C]):
    """The state of each connection of a port, and since when. Not thread-safe."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # In the order of their times: the connection that waits longest comes first.
        self._idle: dict[C, float] = {}
        self._reading: dict[C, float] = {}
        self._responding: set[C] = set()

    def __len__(self) -> int:
        """Return the number of connections."""
        return len(self._idle) + len(self._reading) + len(self._responding)

    @property
    def is_full(self) -> bool:
        """Whether another connection would exceed the limit."""
        return len(self) >= self._limit

    def idle(self, connection: C, now_s: float) -> None:
        """Note that a connection waits for its next request."""
        self.remove(connection)
        self._idle[connection] = now_s

    def reading(self, connection: C, now_s: float) -> None:
        """Note that a part of a request arrived."""
        self.remove(connection)
        self._reading[connection] = now_s

    def responding(self, connection: C) -> None:
        """Note that a request is complete."""
        self.remove(connection)
        self._responding.add(connection)

    def remove(self, connection: C) -> None:
        """Forget a connection that was closed."""
        self._idle.pop(connection, None)
        self._reading.pop(connection, None)
        self._responding.discard(connection)

    def idle_since(self, then_s: float) -> list[C]:
        """Return the connections that have been idle since a time or longer."""
        return [each for each, since_s in self._idle.items() if since_s <= then_s]

    def least_needed(self, now_s: float) -> C | None:
        """Return the connection to close for a new one; None if all are in use.

        The one that has been idle longest; without an idle one, the one whose
        request has been incomplete, without a byte, for longest.
        """
        for connection in self._idle:
            return connection
        for connection, since_s in self._reading.items():
            return connection if now_s - since_s >= STALLED_S else None
        return None


class HttpServer(HTTPServer):
    """tornado's server with a limit of connections.

    At the limit, and where no file descriptor is left, the least needed connection is
    closed for the new one; if all are in use, the new one is closed.
    """

    begin: Callable[[socket.socket, tuple[Any, ...]], None]
    """Begins to serve an accepted connection."""
    settle: Callable[[], None]
    """Brings the states of the connections up to date."""

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Take tornado's arguments."""
        super().initialize(*args, **kwargs)
        self.connections: Connections[Any] = Connections(max_connections())
        self._accepting = True
        self._held = 0

    def accept_on(self, port: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        """Accept connections from now on."""
        if self._accepting:
            loop.add_reader(port, self._accept, port, loop)

    def close_port(self, port: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        """Accept no more connections; the system refuses them at once."""
        self._accepting = False
        loop.remove_reader(port)
        port.close()

    def _accept(self, port: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, address = port.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if not is_shortage(error):
                    raise
                if not self._close_least_needed():
                    # The port stays readable: retrying would take all the time.
                    loop.remove_reader(port)
                    loop.call_later(_PAUSE_S, self.accept_on, port, loop)
                return
            self._take(connection, address)

    def _take(self, connection: socket.socket, address: tuple[Any, ...]) -> None:
        if not self.connections.is_full or self._close_least_needed():
            self.begin(connection, address)
        elif self._held < _MAX_HELD:
            self._held += 1
            loop = asyncio.get_running_loop()
            loop.call_later(_HELD_S, self._take_held, connection, address)
        else:
            connection.close()

    def _take_held(self, connection: socket.socket, address: tuple[Any, ...]) -> None:
        """Take a connection if another one was closed or became idle, else close it."""
        self._held -= 1
        if self.connections.is_full and not self._close_least_needed():
            connection.close()
        else:
            self.begin(connection, address)

    def _close_least_needed(self) -> bool:
        """Close a connection; return whether one was closed."""
        self.settle()
        stream = self.connections.least_needed(time.monotonic())
        if stream is None:
            return False
        self.connections.remove(stream)
        stream.close()
        return True

    def on_close(self, server_conn: object) -> None:
        """Forget a connection."""
        assert isinstance(server_conn, HTTP1ServerConnection)
        self.connections.remove(server_conn.stream)
        super().on_close(server_conn)
