"""HttpServer: accepts connections, and never more than the process can afford."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

from tornado.http1connection import HTTP1ServerConnection
from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

from blsnb.serving.core.limits import most_connections
from blsnb.serving.core.shortage import is_shortage
from blsnb.serving.http.connections import Connections

_AT_ONCE = 128
"""Maximum number of connections accepted before others are served."""
_PAUSE_S = 0.2
"""Seconds until the next attempt where no descriptor is left."""


class HttpServer(HTTPServer):
    """tornado's server with a limit of connections.

    At the limit, and where no file descriptor is left, the connection that is idle for
    the longest time is closed for the new one; if every connection is in use, the new
    one is closed.
    """

    def initialize(self, *given: Any, **named: Any) -> None:
        """Take tornado's arguments."""
        super().initialize(*given, **named)
        self.connections: Connections[IOStream] = Connections(most_connections())
        self._accepting = True

    def accept_on(self, port: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        """Accept connections from now on."""
        if self._accepting:
            loop.add_reader(port, self._accept, port, loop)

    def close_port(self, port: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        """Accept no more connections."""
        self._accepting = False
        loop.remove_reader(port)

    def _accept(self, port: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, address = port.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if not is_shortage(error):
                    raise
                if not self._close_idle():
                    # The port stays readable: trying on would take all the time.
                    loop.remove_reader(port)
                    loop.call_later(_PAUSE_S, self.accept_on, port, loop)
                return
            self._take(connection, address)

    def _take(self, connection: socket.socket, address: tuple[Any, ...]) -> None:
        if self.connections.is_full and not self._close_idle():
            connection.close()
            return
        stream = IOStream(
            connection,
            max_buffer_size=self.max_buffer_size,
            read_chunk_size=self.read_chunk_size,
        )
        self.connections.rests(stream, time.monotonic())
        self.handle_stream(stream, address)

    def _close_idle(self) -> bool:
        """Close the connection that is needed least; return whether there was one."""
        stream = self.connections.victim(time.monotonic())
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
