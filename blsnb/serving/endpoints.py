"""Serve a live server on ports of this machine, for clients of Triton."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from blsnb.arguments import (
    check_text,
    check_type,
    is_loopback,
    plain,
    warn_user,
)
from blsnb.files.owned import Creator
from blsnb.parts.server_parts import HasParts, ServerParts, parts_of
from blsnb.printable import printable
from blsnb.serving.access import Access
from blsnb.serving.core.log_settings import LogSettings
from blsnb.serving.core.serving_options import ServingOptions
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.ports import (
    check_port,
    remove_stale_socket,
    socket_path,
    unix_host,
)

if TYPE_CHECKING:
    from blsnb.serving.grpc.endpoint import GrpcEndpoint
    from blsnb.serving.http.endpoint import HttpPort

HTTP, GRPC, METRICS = "HTTP", "gRPC", "metrics"
_CLOSE_S = 5.0
_OPENING_ORDER = (GRPC, HTTP, METRICS)
_FORK_SUPPORT = "GRPC_ENABLE_FORK_SUPPORT"


class Endpoints:
    """The ports of a server, until they or the server are closed.

    `serve` opens them. The request of a client is a run like any other: it is recorded,
    and the monitor shows it.

    Parameters
    ----------
    parts
        The parts of the server.
    host
        The address to listen on.
    access
        What web pages and other clients may do; None for the defaults.
    unix_sockets
        A folder for Unix sockets instead of ports; None for ports.
    options
        How the ports answer; None for Triton's defaults.
    """

    def __init__(
        self,
        parts: ServerParts,
        host: str,
        access: Access | None,
        unix_sockets: str | os.PathLike[str] | None,
        options: ServingOptions | None,
    ) -> None:
        self.host = host
        self.access = access or Access()
        self._unix_sockets = unix_sockets
        self._shared = SharedState(parts, self.access, options)
        self._parts = parts
        self._open: dict[str, GrpcEndpoint | HttpPort] = {}
        self.closed = False
        """Whether the ports were closed."""
        self._creator = Creator()
        self._forget: Callable[[], object] | None = None

    def __repr__(self) -> str:
        if self.closed:
            return "<Endpoints: closed>"
        ports = ", ".join(f"{name} {each}" for name, each in self.addresses.items())
        return printable(f"<Endpoints: {ports}>")

    def __enter__(self) -> Endpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def ports(self) -> dict[str, int]:
        """The port of each protocol, such as ``"gRPC"``; 0 for a Unix socket."""
        return {name: each.port for name, each in self._listed()}

    @property
    def addresses(self) -> dict[str, str]:
        """The address of each protocol, by name, in the form that clients need."""
        return {name: each.address for name, each in self._listed()}

    def _listed(self) -> list[tuple[str, GrpcEndpoint | HttpPort]]:
        names = (HTTP, GRPC, METRICS)
        return [(name, self._open[name]) for name in names if name in self._open]

    @property
    def log_settings(self) -> LogSettings:
        """The log settings, which clients can change."""
        return self._shared.log_settings

    def snippet(self) -> str:
        """Return the lines of a script that connect to the server."""
        found = self._open.get(GRPC) or self._open.get(HTTP)
        if found is None:
            return ""
        module = "grpc" if GRPC in self._open else "http"
        return (
            f"import tritonclient.{module}\n"
            f'client = tritonclient.{module}.InferenceServerClient("{found.address}")'
        )

    def close(self, timeout_s: float = _CLOSE_S) -> None:
        """Accept no more requests, and release the ports.

        Parameters
        ----------
        timeout_s
            Seconds that running requests may take to finish.
        """
        if self.closed:
            return
        self.closed = True
        # A forked child has copies of the sockets, but not the threads.
        if not self._creator.is_current_process:
            return
        if self._forget is not None:
            self._forget()
        deadline = time.monotonic() + timeout_s
        # HTTP refuses connections first, as on Triton. All ports share one timeout.
        ports = [each for _, each in self._listed()]
        try:
            while ports:
                ports.pop(0).close(max(0.0, deadline - time.monotonic()))
        finally:
            # After Ctrl-C.
            for each in ports:
                each.close(0.0)
            self._shared.close()

    def start(self, ports: Mapping[str, int | None]) -> None:
        """Open all ports, or none.

        Parameters
        ----------
        ports
            By protocol; None leaves a protocol out.

        Raises
        ------
        OSError
            A port is not available; the text names it.
        """
        try:
            # HTTP reports readiness: gRPC must listen before.
            for name in sorted(ports, key=_OPENING_ORDER.index):
                port = ports[name]
                if port is None:
                    continue
                host = self._host(name, port)
                self._open[name] = self._endpoint(name, host, port)
            lifetime = self._parts.lifetime
            self._forget = lifetime.at_close(lambda: self.close(lifetime.left_s))
        except BaseException:
            self.close(0)
            raise

    def _host(self, name: str, port: int) -> str:
        """Return the address to listen on, after checking that it is available."""
        if self._unix_sockets is not None:
            host = unix_host(self._unix_sockets, name.lower())
            remove_stale_socket(socket_path(host))
            return host
        check_port(name, self.host, port)
        return self.host

    def _endpoint(self, name: str, host: str, port: int) -> GrpcEndpoint | HttpPort:
        # Each protocol imports libraries that the others do not need.
        if name == GRPC:
            with without_fork_notices():
                from blsnb.serving.grpc.endpoint import GrpcEndpoint

            return GrpcEndpoint(self._parts, self._shared, host, port)
        from blsnb.serving.http.endpoint import HttpEndpoint, MetricsEndpoint

        if name == HTTP:
            return HttpEndpoint(self._parts, self._shared, host, port)
        return MetricsEndpoint(self._parts, self.access, host, port)


@contextlib.contextmanager
def without_fork_notices() -> Iterator[None]:
    """Import gRPC without the notice that it prints whenever a process forks.

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


def serve(
    server: HasParts,
    *,
    http: int | None = 8000,
    grpc: int | None = 8001,
    metrics: int | None = 8002,
    host: str = "127.0.0.1",
    access: Access | None = None,
    unix_sockets: str | os.PathLike[str] | None = None,
    options: ServingOptions | None = None,
) -> Endpoints:
    """Serve a live server over Triton's HTTP and gRPC protocols.

    Triton's clients can use it like a real server.

    Parameters
    ----------
    server
        The server.
    http, grpc, metrics
        The ports; 0 for a free one, None to leave a protocol out.
    host
        The address to listen on. If it is reachable from other machines, their users
        can run the models' code and load other models, and a warning says so.
    access
        What clients may do: web pages, host names, loads with files, restricted APIs.
        None for `Access`'s defaults.
    unix_sockets
        A folder in which Unix sockets named ``http.sock``, ``grpc.sock`` and
        ``metrics.sock`` replace the ports; only this user may enter it. A missing
        folder is made.
    options
        How the ports answer, such as the size limit of inputs over HTTP. None for
        Triton's defaults.

    Returns
    -------
    Endpoints
        Close it with `Endpoints.close`; the server closes it, too.

    Raises
    ------
    OSError
        A port is not available; the text names it.
    ServerClosedError
        The server was closed.
    TypeError
        An argument has the wrong type.
    ValueError
        A port is out of range.
    """
    parts = parts_of(server)
    check_text(host=host)
    ports = {HTTP: plain(http), GRPC: plain(grpc), METRICS: plain(metrics)}
    for name, port in ports.items():
        expected = "a port number, such as 8000, or None"
        check_type(name.lower(), port, int | None, expected)
    if not is_loopback(host):
        warn_user(
            f"models are served on {host}: everybody who can reach this address can "
            "run them, and load other code into this process. Omit host to serve them "
            "to this machine only."
        )
    check_type("access", access, Access | None, "a blsnb.serving.access.Access")
    check_type("options", options, ServingOptions | None, "ServingOptions, or None")
    check_type("unix_sockets", unix_sockets, str | os.PathLike | None, "a folder")
    endpoints = Endpoints(parts, host, access, unix_sockets, options)
    endpoints.start(ports)
    return endpoints
