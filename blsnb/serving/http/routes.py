"""The routes of HTTP: path, handler and thread pool, as on Triton's end points."""

from __future__ import annotations

import enum
import functools
import ipaddress
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from blsnb.engine.request.validation import RequestError
from blsnb.engine.threads.workers import Workers
from blsnb.errors import BlsnbError, InferenceError, ServerClosedError
from blsnb.parts.server_parts import ServerParts
from blsnb.serving.core.ports import is_loopback
from blsnb.serving.core.requests import STOPPING, Requests
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.core.shortage import shortage_of
from blsnb.serving.http import settings
from blsnb.serving.http.generate import HttpGenerate
from blsnb.serving.http.infer import HttpInfer
from blsnb.serving.http.messages import (
    FORBIDDEN,
    PLAIN,
    HttpRequest,
    HttpResponse,
    error_body,
    error_response,
    not_allowed,
    not_found,
)
from blsnb.serving.http.models import HttpModels, HttpRepository

METRICS_TYPE = "text/plain; charset=utf-8"
_MODEL = r"/v2/models/(?P<model>[^/]+)"
_VERSION = _MODEL + r"(?:/versions/(?P<version>[0-9]+))?"
_MEMORY = (
    r"/v2/(?P<kind>system|cuda)sharedmemory(?:/region/(?P<region>[^/]+))?"
    r"/(?P<action>status|register|unregister)"
)
_REPOSITORY = r"/v2/repository(?:/(?P<repository>[^/]+))?"
_STOPPING = f"[request id: <id_unknown>] {STOPPING}"
_FOREIGN = (
    "a web page from another machine may not use this server: loading a model runs "
    "code in it"
)
_MAX_REQUESTS = 512
"""Maximum number of threads for inference requests; one model gets half of them."""
_MAX_LOADS = 16
"""Maximum number of threads for loads and unloads; one model gets half of them."""
_MAX_QUERIES = 8
_log = logging.getLogger("blsnb.serving")


class Pool(enum.Enum):
    """Threads that make responses."""

    REQUESTS = enum.auto()
    READINESS = enum.auto()
    """Uses the threads for requests: a model may have an ``is_ready`` hook."""
    LOADS = enum.auto()
    QUERIES = enum.auto()
    """Nothing here waits for a model."""


class Route(NamedTuple):
    """The handler of paths that match a pattern, and the pool on which it runs.

    The groups of the pattern are keyword arguments of the handler; a group that is
    missing is empty.
    """

    pattern: str
    handler: Callable[..., HttpResponse]
    pool: Pool = Pool.QUERIES


class Target(NamedTuple):
    """What responds to requests for a path, on which threads."""

    respond: Callable[[HttpRequest], HttpResponse]
    pool: Pool
    model: str


def http_routes(parts: ServerParts, shared: SharedState) -> list[Route]:
    """Return the routes of the KServe protocol; the first one that matches counts.

    References
    ----------
    server: src/http_server.cc, HTTPAPIServer::Handle
    """
    requests = Requests(parts)
    infer = HttpInfer(requests, shared.memory).respond
    generate = HttpGenerate(requests).respond
    models, repository = HttpModels(parts), HttpRepository(parts)
    trace = settings.HttpTrace(parts.engine.catalog, shared.trace_settings).respond
    memory = functools.partial(settings.memory, shared.memory)
    log = functools.partial(settings.logging, shared.log_settings)
    return [
        Route(_VERSION + "/infer", infer, Pool.REQUESTS),
        Route(_VERSION + "/(?P<kind>generate(?:_stream)?)", generate, Pool.REQUESTS),
        Route(_VERSION + "/ready", models.ready, Pool.READINESS),
        Route("/v2", models.about),
        Route("/v2/health/(?P<kind>live|ready)", models.health),
        Route("/v2/models/stats", models.statistics),
        Route("/v2/logging", log),
        Route("/v2/trace/setting", trace),
        Route(_MODEL + "/trace/setting", trace),
        Route(_VERSION + "/config", models.config),
        Route(_VERSION + "/stats", models.statistics),
        Route(_VERSION, models.metadata),
        Route(_MEMORY, memory),
        Route(_REPOSITORY + "/index", repository.index),
        Route(
            _REPOSITORY + "/models/(?P<model>[^/]+)/(?P<action>load|unload)",
            repository.control,
            Pool.LOADS,
        ),
    ]


def metrics_routes(parts: ServerParts) -> list[Route]:
    """Return the routes of the metrics port: other paths are empty, as on Triton.

    References
    ----------
    server: src/http_server.cc, HTTPMetricsServer::Handle
    """

    def page(request: HttpRequest, text: Callable[[], str]) -> HttpResponse:
        if request.method != "GET":
            return not_allowed(PLAIN)
        return HttpResponse(body=text().encode(), content_type=METRICS_TYPE)

    return [
        Route("/metrics/?", functools.partial(page, text=parts.measurements.metrics)),
        Route(".*", functools.partial(page, text=str)),
    ]


class Router:
    """Finds the target of a path.

    tornado's router decodes the parts of a path, and Triton does not.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = [
            (re.compile(pattern), handler, pool) for pattern, handler, pool in routes
        ]

    def find(self, path: str) -> Target:
        """Return the target of a path; the response to an unknown one is an error."""
        for pattern, handler, pool in self._routes:
            if found := pattern.fullmatch(path):
                arguments = found.groupdict("")
                respond = functools.partial(_respond, handler, arguments)
                return Target(respond, pool, arguments.get("model", ""))
        respond = functools.partial(_respond, lambda _: not_found(), {})
        return Target(respond, Pool.QUERIES, "")


def _respond(
    handler: Callable[..., HttpResponse],
    arguments: Mapping[str, str],
    request: HttpRequest,
) -> HttpResponse:
    """Return the response of a handler; an exception becomes an error response."""
    if is_foreign(request.headers):
        return HttpResponse(FORBIDDEN, error_body(_FOREIGN))
    try:
        return handler(request, **arguments)
    except (RequestError, InferenceError) as error:
        return error_response(error.message, error.code)
    except ServerClosedError:
        return error_response(_STOPPING, "UNAVAILABLE")
    except BlsnbError as error:
        return error_response(str(error))
    except Exception as error:
        if (shortage := shortage_of(error)) is not None:
            return error_response(shortage.message, shortage.code)
        _log.exception("%s %s failed", request.method, request.path)
        return error_response(f"unexpected error: {error!r}", "INTERNAL")


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Whether a browser sends the request for a web page of another machine.

    A browser lets any page send requests to ports of this machine, and names the page
    in ``Origin``; other clients send no such header.
    """
    origin = headers.get("Origin")
    if origin is None:
        return False
    try:
        parts = urlsplit(origin)
        host = parts.hostname or ""
    except ValueError:
        return True
    same = bool(host) and parts.netloc == headers.get("Host", "")
    return not (is_loopback(host) or (same and _is_address(host)))


def _is_address(host: str) -> bool:
    """Whether a host is no name, which its owner could resolve to this machine."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class HttpThreads:
    """The threads of a port: neither one model nor all loads can use all of them.

    Parameters
    ----------
    name
        Name of the threads, followed by that of their pool.
    queries
        Maximum number of threads for queries; one of them never ends.

    Raises
    ------
    OutOfResourcesError
        The thread for health checks cannot start.
    """

    def __init__(self, name: str, queries: int = _MAX_QUERIES) -> None:
        self.name = name
        requests = Workers(_MAX_REQUESTS, f"{name} request")
        self._pools = {
            Pool.REQUESTS: requests,
            Pool.READINESS: requests,
            Pool.LOADS: Workers(_MAX_LOADS, f"{name} load"),
            Pool.QUERIES: Workers(queries, f"{name} query", keep=1),
        }
        self._pools[Pool.QUERIES].start()

    def run(self, target: Target, work: Callable[[], None], *, continued: bool) -> None:
        """Let a thread do a part of the work for a request.

        Raises
        ------
        OutOfResourcesError
            No thread can start.
        RuntimeError
            The threads were stopped.
        """
        key = None if target.pool is Pool.QUERIES else (target.model, target.pool)
        self._pools[target.pool].submit_for(key, work, continued=continued)

    def close(self) -> None:
        """End idle threads, and accept no more work."""
        for pool in self._pools.values():
            pool.shutdown(cancel_futures=True)
