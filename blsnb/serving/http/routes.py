"""The routes of HTTP: path, handler and thread pool, as on Triton's end points."""

from __future__ import annotations

import enum
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from blsnb.engine.request.validation import RequestError
from blsnb.engine.threads.workers import Workers
from blsnb.errors import BlsnbError, InferenceError, ServerClosedError
from blsnb.parts.server_parts import ServerParts
from blsnb.serving.access import (
    CONFIG,
    HEALTH,
    INFERENCE,
    LOGGING,
    MEMORY,
    METADATA,
    REPOSITORY,
    STATISTICS,
    TRACE,
    Access,
    Restrictions,
)
from blsnb.serving.core.requests import STOPPING, Requests
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.core.shortage import shortage_of
from blsnb.serving.http import settings
from blsnb.serving.http.generate import HttpGenerate
from blsnb.serving.http.infer import HttpInfer
from blsnb.serving.http.messages import (
    FORBIDDEN,
    JSON,
    NO_CONTENT,
    NOT_ALLOWED,
    NOT_FOUND,
    PLAIN,
    HttpRequest,
    HttpResponse,
    error_body,
    error_response,
)
from blsnb.serving.http.models import HttpModels, HttpRepository

METRICS_TYPE = "text/plain; charset=utf-8"
_MODEL = r"/v2/models/(?P<model>[^/]+)"
_VERSION = _MODEL + r"(?:/versions/(?P<version>[0-9]+))?"
_GENERATE = _VERSION + r"/(?P<kind>generate(?:_stream)?)"
_HEALTH = r"/v2/health/(?P<kind>live|ready)"
_SHARED = r"/v2/(?P<kind>system|cuda)sharedmemory(?:/region/(?P<region>[^/]+))?"
_REPOSITORIES = r"/v2/repository(?:/(?P<repository>[^/]+))?"
_LOAD = _REPOSITORIES + r"/models/(?P<model>[^/]+)"
_STOPPING = f"[request id: <id_unknown>] {STOPPING}"
_MAX_REQUESTS = 512
"""Maximum number of threads for inference requests; one model gets at most half."""
_MAX_LOADS = 16
"""Maximum number of threads for loads and unloads; one model gets at most half."""
_MAX_QUERIES = 8
_log = logging.getLogger("blsnb.serving")


class Pool(enum.Enum):
    """Threads that make responses."""

    REQUESTS = enum.auto()
    READINESS = enum.auto()
    """Shares the threads of requests, because a model may have an ``is_ready`` hook."""
    LOADS = enum.auto()
    QUERIES = enum.auto()
    """Its handlers do not wait for models."""


class Route(NamedTuple):
    """The handler of requests whose path matches a pattern.

    Parameters
    ----------
    handler
        Takes the request, and the groups of the pattern as keyword arguments; a group
        that is missing is empty.
    content_type
        Content type of the error for another method.
    category
        Triton's name of the APIs with which the route can be restricted; without one it
        never is.
    """

    pattern: str
    handler: Callable[..., HttpResponse]
    methods: tuple[str, ...] = ("GET",)
    pool: Pool = Pool.QUERIES
    content_type: str = JSON
    category: str = ""
    may_stream: bool = False
    """Whether a response may be sent in parts."""


class Guard(NamedTuple):
    """Decides whether a request reaches its handler.

    Parameters
    ----------
    bound
        The address that the port listens on.
    """

    access: Access
    bound: str
    restrictions: Restrictions

    def respond(
        self, route: Route, arguments: Mapping[str, str], request: HttpRequest
    ) -> HttpResponse:
        """Return the response of a route, or the error for a refused request."""
        if text := self.access.refusal(request.headers, self.bound):
            return HttpResponse(FORBIDDEN, error_body(text))
        page = self.access.page_headers(request.headers)
        if page and request.method == "OPTIONS":
            return HttpResponse(NO_CONTENT, headers=page)
        response = self._restricted(route, request)
        if response is None:
            response = _respond(route, arguments, request)
        return replace(response, headers=(*response.headers, *page))

    def _restricted(self, route: Route, request: HttpRequest) -> HttpResponse | None:
        """Return the error for a request without the header of a restricted API.

        References
        ----------
        server: src/http_server.cc, HTTPAPIServer::RespondIfRestricted
        """
        restriction = self.restrictions.get(route.category)
        if restriction is None:
            return None
        if restriction.admits(request.headers.get(restriction.header)):
            return None
        text = f"This API is restricted, expecting header '{restriction.header}'"
        return HttpResponse(FORBIDDEN, error_body(text), PLAIN)


class RouteTarget(NamedTuple):
    """Handler and threads for the requests of a path."""

    respond: Callable[[HttpRequest], HttpResponse]
    pool: Pool
    model: str
    may_stream: bool = False
    is_serial: Callable[[], bool] = lambda: False
    """Whether its requests run one by one anyway."""


def http_routes(parts: ServerParts, shared: SharedState) -> list[Route]:
    """Return the routes of the KServe protocol; the first one that matches counts.

    References
    ----------
    server: src/http_server.cc, HTTPAPIServer::Handle
    """
    requests = Requests(parts, shared.rules)
    infer = HttpInfer(requests, shared).respond
    generate = HttpGenerate(requests, shared.rules).respond
    models = HttpModels(parts, shared.options)
    repository = HttpRepository(parts, shared)
    trace = partial(settings.tracing, parts.engine.catalog, shared.trace_settings)
    memory = settings.HttpMemory(shared.memory)
    log = partial(settings.logging, shared.log_settings)
    get, post, change = ("GET",), ("POST",), ("GET", "POST")
    return [
        Route(_VERSION + "/infer", infer, post, Pool.REQUESTS, PLAIN, INFERENCE),
        Route(_GENERATE, generate, post, Pool.REQUESTS, JSON, INFERENCE, True),
        Route(_VERSION + "/ready", models.ready, get, Pool.READINESS, PLAIN, HEALTH),
        Route("/v2", models.about, category=METADATA),
        Route(_HEALTH, models.health, content_type=PLAIN, category=HEALTH),
        Route("/v2/models/stats", models.statistics, category=STATISTICS),
        Route("/v2/logging", log, change, category=LOGGING),
        Route("/v2/trace/setting", trace, change, category=TRACE),
        Route(_MODEL + "/trace/setting", trace, change, category=TRACE),
        Route(_VERSION + "/config", models.config, category=CONFIG),
        Route(_VERSION + "/stats", models.statistics, category=STATISTICS),
        Route(_VERSION, models.metadata, category=METADATA),
        Route(_SHARED + "/status", memory.status, category=MEMORY),
        Route(_SHARED + "/register", memory.register, post, category=MEMORY),
        Route(_SHARED + "/unregister", memory.unregister, post, category=MEMORY),
        Route(_REPOSITORIES + "/index", repository.index, post, category=REPOSITORY),
        Route(_LOAD + "/load", repository.load, post, Pool.LOADS, JSON, REPOSITORY),
        Route(_LOAD + "/unload", repository.unload, post, Pool.LOADS, JSON, REPOSITORY),
    ]


def metrics_routes(parts: ServerParts) -> list[Route]:
    """Return the routes of the metrics port: other paths are empty, as on Triton.

    References
    ----------
    server: src/http_server.cc, HTTPMetricsServer::Handle
    """

    def metrics(request: HttpRequest) -> HttpResponse:
        text = parts.engine.metrics_text()
        return HttpResponse(body=text.encode(), content_type=METRICS_TYPE)

    empty = HttpResponse(content_type=METRICS_TYPE)
    return [
        Route("/metrics/?", metrics, content_type=PLAIN),
        Route(".*", lambda request: empty, content_type=PLAIN),
    ]


class HttpRouter:
    """Finds the target of a path.

    tornado's router decodes the parts of a path, and Triton does not.

    Parameters
    ----------
    is_serial
        Whether a model, by name and version, runs its requests one by one.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        guard: Guard,
        is_serial: Callable[[str, str], bool] = lambda model, version: False,
    ) -> None:
        self._guard = guard
        self._is_serial = is_serial
        self._routes = [(re.compile(route.pattern), route) for route in routes]

    def find(self, path: str) -> RouteTarget:
        """Return the target of a path; the response to an unknown one is an error."""
        for pattern, route in self._routes:
            if found := pattern.fullmatch(path):
                arguments = found.groupdict("")
                respond = partial(self._guard.respond, route, arguments)
                model = arguments.get("model", "")
                target = RouteTarget(respond, route.pool, model, route.may_stream)
                if route.pool is not Pool.REQUESTS:
                    return target
                version = arguments.get("version", "")
                serial = partial(self._is_serial, model, version)
                return target._replace(is_serial=serial)
        unknown = HttpResponse(NOT_FOUND, error_body("Not Found"), PLAIN)
        return RouteTarget(lambda _: unknown, Pool.QUERIES, "")


def _respond(
    route: Route, arguments: Mapping[str, str], request: HttpRequest
) -> HttpResponse:
    """Return the response of a handler; an exception becomes an error response."""
    if request.method not in route.methods:
        body = error_body("Method Not Allowed")
        return HttpResponse(NOT_ALLOWED, body, route.content_type)
    try:
        return route.handler(request, **arguments)
    except (RequestError, InferenceError) as error:
        return error_response(error.message, error.code)
    except ServerClosedError:
        return error_response(_STOPPING, "UNAVAILABLE")
    except BlsnbError as error:
        return error_response(str(error))
    except BaseException as error:
        # SystemExit would end the thread, and leave the client without a response.
        if (shortage := shortage_of(error)) is not None:
            return error_response(shortage.message, shortage.code)
        _log.exception("%s %s failed", request.method, request.path)
        return error_response(f"unexpected error: {error!r}", "INTERNAL")


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
            Pool.QUERIES: Workers(queries, f"{name} query", keep_idle=1),
        }
        self._pools[Pool.QUERIES].start()

    def run(
        self, target: RouteTarget, work: Callable[[], None], *, continued: bool
    ) -> None:
        """Run a part of the work for a request on a thread."""
        key = None if target.pool is Pool.QUERIES else (target.model, target.pool)
        self._pools[target.pool].submit_for(key, work, continued=continued)

    def close(self) -> None:
        """End idle threads, and accept no more work."""
        for pool in self._pools.values():
            pool.shutdown(cancel_futures=True)
