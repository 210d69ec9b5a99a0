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
    JSON,
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
_MEMORY = r"/v2/(?P<kind>system|cuda)sharedmemory(?:/region/(?P<region>[^/]+))?"
_REPOSITORY = r"/v2/repository(?:/(?P<repository>[^/]+))?"
_LOAD = _REPOSITORY + r"/models/(?P<model>[^/]+)"
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
    """The handler of requests whose path matches a pattern.

    Parameters
    ----------
    handler
        Takes the request, and the groups of the pattern as keyword arguments; a group
        that is missing is empty.
    content_type
        Content type of the error for another method.
    """

    pattern: str
    handler: Callable[..., HttpResponse]
    methods: tuple[str, ...] = ("GET",)
    pool: Pool = Pool.QUERIES
    content_type: str = JSON


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
    memory = settings.HttpMemory(shared.memory)
    log = functools.partial(settings.logging, shared.log_settings)
    get, post, change = ("GET",), ("POST",), ("GET", "POST")
    return [
        Route(_VERSION + "/infer", infer, post, Pool.REQUESTS, PLAIN),
        Route(
            _VERSION + "/(?P<kind>generate(?:_stream)?)", generate, post, Pool.REQUESTS
        ),
        Route(_VERSION + "/ready", models.ready, get, Pool.READINESS, PLAIN),
        Route("/v2", models.about),
        Route("/v2/health/(?P<kind>live|ready)", models.health, content_type=PLAIN),
        Route("/v2/models/stats", models.statistics),
        Route("/v2/logging", log, change),
        Route("/v2/trace/setting", trace, change),
        Route(_MODEL + "/trace/setting", trace, change),
        Route(_VERSION + "/config", models.config),
        Route(_VERSION + "/stats", models.statistics),
        Route(_VERSION, models.metadata),
        Route(_MEMORY + "/status", memory.status),
        Route(_MEMORY + "/register", memory.register, post),
        Route(_MEMORY + "/unregister", memory.unregister, post),
        Route(_REPOSITORY + "/index", repository.index, post),
        Route(_LOAD + "/load", repository.load, post, Pool.LOADS),
        Route(_LOAD + "/unload", repository.unload, post, Pool.LOADS),
    ]


def metrics_routes(parts: ServerParts) -> list[Route]:
    """Return the routes of the metrics port: other paths are empty, as on Triton.

    References
    ----------
    server: src/http_server.cc, HTTPMetricsServer::Handle
    """

    def page(request: HttpRequest, text: Callable[[], str]) -> HttpResponse:
        return HttpResponse(body=text().encode(), content_type=METRICS_TYPE)

    metrics = functools.partial(page, text=parts.measurements.metrics)
    empty = functools.partial(page, text=str)
    return [
        Route("/metrics/?", metrics, content_type=PLAIN),
        Route(".*", empty, content_type=PLAIN),
    ]


class Router:
    """Finds the target of a path.

    tornado's router decodes the parts of a path, and Triton does not.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = [(re.compile(route.pattern), route) for route in routes]

    def find(self, path: str) -> Target:
        """Return the target of a path; the response to an unknown one is an error."""
        for pattern, route in self._routes:
            if found := pattern.fullmatch(path):
                arguments = found.groupdict("")
                respond = functools.partial(_respond, route, arguments)
                return Target(respond, route.pool, arguments.get("model", ""))
        return Target(lambda _: not_found(), Pool.QUERIES, "")


def _respond(
    route: Route, arguments: Mapping[str, str], request: HttpRequest
) -> HttpResponse:
    """Return the response of a handler; an exception becomes an error response."""
    if is_foreign(request.headers):
        return HttpResponse(FORBIDDEN, error_body(_FOREIGN))
    if request.method not in route.methods:
        return not_allowed(route.content_type)
    try:
        return route.handler(request, **arguments)
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
        """Let a thread do a part of the work for a request."""
        key = None if target.pool is Pool.QUERIES else (target.model, target.pool)
        self._pools[target.pool].submit_for(key, work, continued=continued)

    def close(self) -> None:
        """End idle threads, and accept no more work."""
        for pool in self._pools.values():
            pool.shutdown(cancel_futures=True)
