"""HttpEndpoint: the port on which a server speaks HTTP."""

from __future__ import annotations

import re

from blsnb.engine.workers import Workers
from blsnb.inference_server import Server
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http.answer import HttpAnswer, HttpRequest
from blsnb.serving.http.listener import HttpListener
from blsnb.serving.http.routes import HttpRoutes, metrics

_MOST_REQUESTS = 256
"""Inference requests that run at once; those beyond wait."""
_MOST_LOADS = 8
"""Of models, and unloads: they may take as long as a model wants."""
_MOST_QUESTIONS = 8
"""Of all others: none of them waits for a model."""
_OF_MODELS = re.compile(r"/v2/models/.*/(?:infer|generate|generate_stream|ready)")
_LOADS = re.compile(r"/v2/repository/.*/(?:load|unload)")


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
    """

    def __init__(
        self, server: Server, shared: SharedState, host: str, port: int
    ) -> None:
        self._requests = Workers(_MOST_REQUESTS, "blsnb http request")
        self._loads = Workers(_MOST_LOADS, "blsnb http load")
        self._questions = Workers(_MOST_QUESTIONS, "blsnb http question")
        answer = HttpRoutes(server, shared).answer
        self._listener = HttpListener(answer, self._pool_of, host, port, "blsnb http")
        self.host, self.port = host, self._listener.port

    def __repr__(self) -> str:
        return f"<HttpEndpoint {self.address}>"

    @property
    def address(self) -> str:
        """Of the port, as tritonclient takes it: ``"127.0.0.1:8000"``."""
        return self._listener.address

    def _pool_of(self, request: HttpRequest) -> Workers:
        # A model may have a hook that says whether it is ready.
        if _OF_MODELS.fullmatch(request.path):
            return self._requests
        if _LOADS.fullmatch(request.path):
            return self._loads
        return self._questions

    def close(self, timeout_s: float) -> None:
        """Take no more requests, and give the port back; safe to repeat.

        Parameters
        ----------
        timeout_s
            How long requests that are on their way may go on.
        """
        self._listener.close(timeout_s)
        for pool in (self._requests, self._loads, self._questions):
            pool.shutdown(cancel_futures=True)


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
    """

    def __init__(self, server: Server, host: str, port: int) -> None:
        self._pool = Workers(1, "blsnb metrics page")

        def answer(request: HttpRequest) -> HttpAnswer:
            return metrics(server, request)

        self._listener = HttpListener(
            answer, lambda _: self._pool, host, port, "blsnb metrics"
        )
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
        self._pool.shutdown(cancel_futures=True)
