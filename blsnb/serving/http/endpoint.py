"""HttpEndpoint: the port on which a server speaks HTTP."""

from __future__ import annotations

from collections.abc import Callable

from blsnb.parts.server_parts import ServerParts
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http.answer import HttpAnswer, HttpRequest
from blsnb.serving.http.listener import HttpListener
from blsnb.serving.http.routes import HttpRoutes, metrics
from blsnb.serving.http.threads import HttpThreads, OneThread


class HttpEndpoint:
    """Serves KServe's HTTP protocol until it is closed.

    One thread has all connections, so that those that are idle cost none; a request
    runs on a thread of its own.

    Parameters
    ----------
    server
        Where the models are.
    shared
        What all end points of the server keep.
    host
        The address to listen on.
    port
        0 for one that is free.

    Raises
    ------
    OSError
        The port cannot be had.
    OutOfResourcesError
        No thread is left for it.
    """

    def __init__(
        self, server: ServerParts, shared: SharedState, host: str, port: int
    ) -> None:
        self._threads = HttpThreads()
        answer = HttpRoutes(server, shared).answer
        self._listener = _listening(answer, self._threads, host, port, "blsnb http")
        self.host, self.port = host, self._listener.port

    def __repr__(self) -> str:
        return f"<HttpEndpoint {self.address}>"

    @property
    def address(self) -> str:
        """Of the port, as tritonclient takes it: ``"127.0.0.1:8000"``."""
        return self._listener.address

    def close(self, timeout_s: float) -> None:
        """Take no more requests, and give the port back; safe to repeat.

        Parameters
        ----------
        timeout_s
            How long requests that are on their way may go on.
        """
        self._listener.close(timeout_s)
        self._threads.close()


class MetricsEndpoint:
    """Serves the metrics page alone, for Prometheus, until it is closed.

    Parameters
    ----------
    server
        What is counted.
    host
        The address to listen on.
    port
        0 for one that is free.

    Raises
    ------
    OSError
        The port cannot be had.
    OutOfResourcesError
        No thread is left for it.
    """

    def __init__(self, server: ServerParts, host: str, port: int) -> None:
        self._threads = OneThread("blsnb metrics page")

        def answer(request: HttpRequest) -> HttpAnswer:
            return metrics(server, request)

        self._listener = _listening(answer, self._threads, host, port, "blsnb metrics")
        self.host, self.port = host, self._listener.port

    def __repr__(self) -> str:
        return f"<MetricsEndpoint {self.address}>"

    @property
    def address(self) -> str:
        """Of the page."""
        return f"http://{self._listener.address}/metrics"

    def close(self, timeout_s: float) -> None:
        """Give the port back; safe to repeat."""
        self._listener.close(timeout_s)
        self._threads.close()


def _listening(
    answer: Callable[[HttpRequest], HttpAnswer],
    threads: HttpThreads | OneThread,
    host: str,
    port: int,
    name: str,
) -> HttpListener:
    """Return a listener; end the threads if there is none."""
    try:
        return HttpListener(answer, threads, host, port, name)
    except BaseException:
        threads.close()
        raise
