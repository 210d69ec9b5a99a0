"""The socket of a plain connection: it waits some milliseconds at most."""

from __future__ import annotations

import contextlib
import os
import socket
import time

_RECEIVE_BYTES = 1 << 18
_LINGER_S = 0.005
"""Maximum seconds of one wait."""


class PlainSocket:
    """A socket with a timeout, which is used without waiting, too.

    The descriptor of such a socket does not block. Its methods wait before each call to
    the system, which releases the interpreter's lock once more: other threads may take
    it. Reading and writing the descriptor does not.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        connection.settimeout(_LINGER_S)
        with contextlib.suppress(OSError):
            # A Unix socket has no such option.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def receive(self) -> bytes:
        """Return what the client sent; empty if it left.

        Raises
        ------
        BlockingIOError
            There is nothing yet.
        """
        try:
            return os.read(self.connection.fileno(), _RECEIVE_BYTES)
        except BlockingIOError:
            raise
        except (OSError, MemoryError):
            return b""

    def receive_soon(self) -> bytes:
        """Wait for what the client sends; return it, or nothing if it left.

        Raises
        ------
        TimeoutError
            Nothing came soon.
        """
        try:
            return self.connection.recv(_RECEIVE_BYTES)
        except TimeoutError:
            raise
        except (OSError, MemoryError):
            return b""

    def send(self, data: memoryview, for_s: float) -> memoryview | None:
        """Send what the client takes; return the rest, or None if it left.

        Parameters
        ----------
        for_s
            Seconds to continue as long as the client takes something; 0 not to wait.
        """
        until_s = time.monotonic() + for_s
        try:
            data = self._sent_now(data)
            while data and time.monotonic() < until_s:
                data = data[self.connection.send(data) :]
        except TimeoutError:
            return data
        except OSError:
            return None
        return data

    def _sent_now(self, data: memoryview) -> memoryview:
        """Send what the client takes at once; return the rest."""
        try:
            return data[os.write(self.connection.fileno(), data) :]
        except BlockingIOError:
            return data

    def end(self) -> None:
        """End the connection; the thread that uses the socket closes it."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
