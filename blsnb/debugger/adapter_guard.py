"""A connection that keeps debugpy's adapter able to accept clients."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from typing import Any

_PATIENCE_S = 5.0
_CHUNK_BYTES = 65_536


class AdapterGuard:
    """The oldest client of debugpy's adapter, which never sends a request.

    Whenever a client connects, the adapter reports its ports to its oldest client. If
    that one is just about to leave, as after the debugger was switched off and on
    quickly, the report fails and the adapter accepts no client again: the debugger
    could not be switched on until the kernel is restarted. This client stays.

    Parameters
    ----------
    client
        The kernel's client of the adapter, an ``ipykernel.debugger.DebugpyClient``.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._connect_kernel = client.connect_tcp_socket
        self._socket: socket.socket | None = None

    def install(self) -> None:
        """Connect before the kernel does; at once if it is connected already."""
        self._client.connect_tcp_socket = self._connect
        if self._client.routing_id is not None:
            self._join()

    def remove(self) -> None:
        """Leave the adapter, and let the kernel connect as before."""
        self._client.connect_tcp_socket = self._connect_kernel
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> None:
        if self._socket is None:
            self._join()
        else:
            # Its reports are not read.
            with contextlib.suppress(OSError):
                while self._socket.recv(_CHUNK_BYTES):
                    pass
        self._connect_kernel()

    def _join(self) -> None:
        """Connect, and wait until the adapter knows this client."""
        host, port = self._client.get_host_port()
        # Without an adapter, as where debugpy could not start one, the kernel says so.
        with contextlib.suppress(OSError):
            joined = socket.create_connection((host, int(port)), _PATIENCE_S)
            try:
                joined.recv(_CHUNK_BYTES)
                joined.setblocking(False)
            except OSError:
                joined.close()
                raise
            self._socket = joined


def register(shell: Any) -> Callable[[], None]:
    """Guard the adapter of a shell's kernel; return a function that ends it."""
    kernels = getattr(getattr(shell, "kernel", None), "debugger", None)
    client = getattr(kernels, "debugpy_client", None)
    names = ("connect_tcp_socket", "get_host_port", "routing_id")
    if not all(hasattr(client, name) for name in names):
        return lambda: None
    guard = AdapterGuard(client)
    guard.install()
    return guard.remove
