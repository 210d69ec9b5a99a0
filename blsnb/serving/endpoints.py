"""Endpoints: a live server on ports of this machine, for clients of Triton."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Protocol

from blsnb.arguments import check_text, check_type
from blsnb.files.owned import Creator
from blsnb.parts.server_parts import HasParts, ServerParts, parts_of
from blsnb.serving.core.ports import is_loopback
from blsnb.serving.core.shared_state import SharedState

HTTP, GRPC, METRICS = "HTTP", "gRPC", "metrics"
LOOPBACK = "127.0.0.1"
HTTP_PORT, GRPC_PORT, METRICS_PORT = 8000, 8001, 8002
"""Those of Triton."""
_CLOSE_S = 5.0
_LAST_PORT = 65535
_FORK_SUPPORT = "GRPC_ENABLE_FORK_SUPPORT"


class Endpoint(Protocol):
    """A port that is served."""

    host: str
    port: int

    @property
    def address(self) -> str:
        """As a client takes it."""

    def close(self, timeout_s: float) -> None:
        """Take no more requests; those on their way have so many seconds to end."""


class Endpoints:
    """Where a server can be reached, until they or the server are closed.

    Made by `serve`. A request of a client is a run of the server as any other: it is
    recorded, and the monitor shows it.
    """

    def __init__(self, server: ServerParts, host: str) -> None:
        self.host = host
        self._shared = SharedState(server)
        self._server = server
        self._open: dict[str, Endpoint] = {}
        self._closed = False
        self._creator = Creator()
        self._forget: Callable[[], object] | None = None

    def __repr__(self) -> str:
        if self._closed:
            return "<Endpoints: closed>"
        said = ", ".join(f"{name} {each.address}" for name, each in self._open.items())
        return f"<Endpoints: {said}>"

    def __enter__(self) -> Endpoints:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether they were closed."""
        return self._closed

    @property
    def ports(self) -> dict[str, int]:
        """Name of each protocol, such as ``"gRPC"``, and its port."""
        return {name: each.port for name, each in self._open.items()}

    @property
    def addresses(self) -> dict[str, str]:
        """Name of each protocol, and its address as a client takes it."""
        return {name: each.address for name, each in self._open.items()}

    def snippet(self) -> str:
        """Return the lines with which a script reaches the server."""
        found = self._open.get(GRPC) or self._open.get(HTTP)
        if found is None:
            return ""
        module = "grpc" if GRPC in self._open else "http"
        return (
            f"import tritonclient.{module}\n"
            f'client = tritonclient.{module}.InferenceServerClient("{found.address}")'
        )

    def close(self, timeout_s: float = _CLOSE_S) -> None:
        """Take no more requests, and give the ports back.

        Parameters
        ----------
        timeout_s
            How long requests that are on their way may go on.
        """
        if self._closed:
            return
        self._closed = True
        # A forked child has copies of the sockets, and none of the threads.
        if not self._creator.is_current_process:
            return
        if self._forget is not None:
            self._forget()
        deadline = time.monotonic() + timeout_s
        for each in self._open.values():
            # Together, not one after the other.
            each.close(max(0.0, deadline - time.monotonic()))
        self._shared.close()

    def _close_with_server(self) -> None:
        self.close(min(_CLOSE_S, self._server.lifetime.exit_timeout_s))

    def start(self, ports: Mapping[str, int | None]) -> None:
        """Open ports, by name of the protocol; all of them or none.

        Raises
        ------
        OSError
            One cannot be had; the text names it.
        """
        try:
            for name, port in ports.items():
                if port is not None:
                    check_port(name, self.host, port)
                    self._open[name] = self._opened(name, port)
            self._forget = self._server.lifetime.at_close(self._close_with_server)
        except BaseException:
            self.close(0)
            raise

    def _opened(self, name: str, port: int) -> Endpoint:
        # Each imports much that the others do without.
        if name == GRPC:
            with without_fork_notices():
                from blsnb.serving.grpc.endpoint import GrpcEndpoint

            return GrpcEndpoint(self._server, self._shared, self.host, port)
        from blsnb.serving.http.endpoint import HttpEndpoint, MetricsEndpoint

        if name == HTTP:
            return HttpEndpoint(self._server, self._shared, self.host, port)
        return MetricsEndpoint(self._server, self.host, port)


@contextlib.contextmanager
def without_fork_notices() -> Iterator[None]:
    """Import gRPC so that it prints no notice whenever a notebook runs ``!ls``.

    While it serves, gRPC cannot support forked processes anyway. Nothing changes if
    it was imported before, or the environment variable is set.
    """
    if "grpc" in sys.modules or _FORK_SUPPORT in os.environ:
        yield
        return
    os.environ[_FORK_SUPPORT] = "0"
    try:
        yield
    finally:
        os.environ.pop(_FORK_SUPPORT, None)


def check_port(name: str, host: str, port: int) -> None:
    """Refuse a port that cannot be had, and say why.

    Raises
    ------
    OSError
        It is in use, reserved, or of another machine.
    ValueError
        No port has such a number.
    """
    if not 0 <= port <= _LAST_PORT:
        raise ValueError(f"{port} is no port for {name}: the last one is {_LAST_PORT}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            raise OSError(
                error.errno,
                f"{name} cannot be served on port {port} of {host}: "
                f"{(error.strerror or str(error)).lower()}. {_advice(error)}",
            ) from None


def _advice(error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return (
                "Choose another port, or 0 for one that is free; or close what was "
                "served there before, such as by the same cell."
            )
        case errno.EACCES:
            return "Choose another port, or 0 for one that is free."
        case _:
            return "The host must be an address of this machine."


def serve(
    server: HasParts,
    *,
    http: int | None = HTTP_PORT,
    grpc: int | None = GRPC_PORT,
    metrics: int | None = METRICS_PORT,
    host: str = LOOPBACK,
) -> Endpoints:
    """Put a live server behind Triton's HTTP and gRPC interfaces.

    Clients of Triton reach its models as they reach those of a real server.

    Parameters
    ----------
    http, grpc, metrics
        The ports; 0 for one that is free, None for none.
    host
        The address to listen on. Any other than this machine's own lets everybody
        who reaches it run what the models can do, and load others: a warning says so.

    Returns
    -------
    Endpoints
        Closed with the server, or before it with `Endpoints.close`.

    Raises
    ------
    OSError
        A port is in use, or cannot be had; the text names it.
    ValueError
        No port has such a number.
    """
    parts = parts_of(server)
    check_text(host=host)
    for name, port in {"http": http, "grpc": grpc, "metrics": metrics}.items():
        check_type(name, port, int | None, "a port number, such as 8000, or None")
    if not is_loopback(host):
        warnings.warn(
            f"models are served on {host}: whoever reaches this machine there can run "
            "them, and load code of its own into this process. Without host they are "
            "served to this machine alone.",
            stacklevel=2,
        )
    endpoints = Endpoints(parts, host)
    endpoints.start({HTTP: http, GRPC: grpc, METRICS: metrics})
    return endpoints
