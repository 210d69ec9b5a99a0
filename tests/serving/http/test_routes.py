"""The table of HTTP routes: which handler and which threads a path has."""

from __future__ import annotations

import errno
import logging

import pytest
from cells import CONFIG, DOUBLE

from blsnb.engine.request.validation import RequestError
from blsnb.errors import (
    BlsnbError,
    InferenceError,
    OutOfResourcesError,
    ServerClosedError,
)
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving.access import CATEGORIES, Access
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http.messages import HttpRequest, HttpResponse
from blsnb.serving.http.routes import (
    Guard,
    HttpRouter,
    Pool,
    Route,
    http_routes,
    metrics_routes,
)

OPEN = Guard(Access(), "127.0.0.1", {})


@pytest.fixture
def router(server: Server) -> HttpRouter:
    """The routes of the KServe protocol."""
    parts = parts_of(server)
    return HttpRouter(http_routes(parts, SharedState(parts)), OPEN)


def test_each_route_belongs_to_an_api_that_can_be_restricted(server: Server) -> None:
    """A route without one would serve a client that lacks the header."""
    parts = parts_of(server)
    categories = {route.category for route in http_routes(parts, SharedState(parts))}

    assert set(CATEGORIES) == categories


@pytest.mark.parametrize(
    ("path", "pool", "model"),
    [
        ("/v2/models/m/infer", Pool.REQUESTS, "m"),
        ("/v2/models/m/versions/3/infer", Pool.REQUESTS, "m"),
        ("/v2/models/m/generate", Pool.REQUESTS, "m"),
        ("/v2/models/m/versions/3/generate_stream", Pool.REQUESTS, "m"),
        ("/v2/models/a%20b/infer", Pool.REQUESTS, "a%20b"),
        ("/v2/models/m/ready", Pool.READINESS, "m"),
        ("/v2/repository/models/m/load", Pool.LOADS, "m"),
        ("/v2/repository/r/models/m/unload", Pool.LOADS, "m"),
        ("/v2/repository/index", Pool.QUERIES, ""),
        ("/v2/models/m", Pool.QUERIES, "m"),
        ("/v2/models/m/config", Pool.QUERIES, "m"),
        ("/v2/models/stats", Pool.QUERIES, ""),
        ("/v2/models/m/other/infer", Pool.QUERIES, ""),
        ("/v2/health/live", Pool.QUERIES, ""),
    ],
)
def test_a_path_has_a_pool_and_a_model(
    router: HttpRouter, path: str, pool: Pool, model: str
) -> None:
    """Only requests and loads share their threads by model; names are not decoded."""
    target = router.find(path)

    assert (pool, model) == (target.pool, target.model)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v2", 200),
        ("/v2/models/stats", 200),
        ("/v2/trace/setting", 200),
        ("/v2/logging", 200),
        ("/v2/systemsharedmemory/status", 200),
        ("/v2/cudasharedmemory/status", 200),
        ("/v2/models/m/trace/setting", 400),
        ("/v2/models/m/versions/1/trace/setting", 404),
        ("/v2/models/m/versions/one", 404),
        ("/v2/models/m/other", 404),
        ("/v3", 404),
    ],
)
def test_a_path_has_a_handler(router: HttpRouter, path: str, status: int) -> None:
    """An unknown path has one that responds so."""
    response = router.find(path).respond(HttpRequest("GET", path))

    assert status == response.status


@pytest.mark.parametrize(
    ("path", "is_empty"),
    [("/metrics", False), ("/metrics/", False), ("/", True), ("/v2", True)],
)
def test_only_the_metrics_page_has_text(
    server: Server, path: str, is_empty: bool
) -> None:
    """Any other path of its port is an empty page, as on Triton."""
    server.define("double", DOUBLE, config=CONFIG)
    target = HttpRouter(metrics_routes(parts_of(server)), OPEN).find(path)
    response = target.respond(HttpRequest("GET", path))

    assert (200, is_empty) == (response.status, not response.body)


QUERY, CHANGE, POST = ("GET",), ("GET", "POST"), ("POST",)
PLAIN, JSON = "text/plain", "application/json"


class Categories(dict[str, None]):
    """Restrictions of nothing; each look-up adds its category."""

    def get(self, category: str, default: object = None) -> None:  # type: ignore[override] # only look-ups
        """Note a category."""
        self[category] = None


@pytest.mark.parametrize(
    ("path", "methods", "refusal", "category"),
    [
        ("/v2/models/m/infer", POST, PLAIN, "inference"),
        ("/v2/models/m/generate", POST, JSON, "inference"),
        ("/v2/models/m/ready", QUERY, PLAIN, "health"),
        ("/v2", QUERY, JSON, "metadata"),
        ("/v2/health/live", QUERY, PLAIN, "health"),
        ("/v2/health/ready", QUERY, PLAIN, "health"),
        ("/v2/models/stats", QUERY, JSON, "statistics"),
        ("/v2/logging", CHANGE, JSON, "logging"),
        ("/v2/trace/setting", CHANGE, JSON, "trace"),
        ("/v2/models/m/trace/setting", CHANGE, JSON, "trace"),
        ("/v2/models/m/versions/1/config", QUERY, JSON, "model-config"),
        ("/v2/models/m/stats", QUERY, JSON, "statistics"),
        ("/v2/models/m", QUERY, JSON, "metadata"),
        ("/v2/systemsharedmemory/region/r/status", QUERY, JSON, "shared-memory"),
        ("/v2/cudasharedmemory/region/r/register", POST, JSON, "shared-memory"),
        ("/v2/systemsharedmemory/unregister", POST, JSON, "shared-memory"),
        ("/v2/repository/index", POST, JSON, "model-repository"),
        ("/v2/repository/models/m/load", POST, JSON, "model-repository"),
        ("/v2/repository/models/m/unload", POST, JSON, "model-repository"),
    ],
)
def test_a_path_has_methods_and_a_category(
    server: Server, path: str, methods: tuple[str, ...], refusal: str, category: str
) -> None:
    """The content type of another method's refusal is Triton's."""
    parts, seen = parts_of(server), Categories()
    guard = Guard(Access(), "127.0.0.1", seen)
    router = HttpRouter(http_routes(parts, SharedState(parts)), guard)
    target = router.find(path)
    responses = {
        method: target.respond(HttpRequest(method, path))
        for method in ("GET", "POST", "PUT")
    }

    assert methods == tuple(m for m, each in responses.items() if each.status != 405)
    assert (refusal, b'{"error":"Method Not Allowed"}') == (
        responses["PUT"].content_type,
        responses["PUT"].body,
    )
    assert [category] == list(seen)
    assert target.may_stream is path.endswith("/generate")


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (RequestError("a", "NOT_FOUND"), 404, "a"),
        (InferenceError("a", "UNSUPPORTED"), 501, "a"),
        (InferenceError("a", "CANCELLED"), 400, "a"),
        (
            ServerClosedError("a"),
            503,
            "[request id: <id_unknown>] Server is stopping, scheduler for model has "
            "stopped accepting new inference requests",
        ),
        (BlsnbError("a"), 400, "a"),
        (OutOfResourcesError("a"), 503, "a"),
        (MemoryError(), 503, "the server is out of memory"),
        (
            OSError(errno.EMFILE, "a"),
            503,
            "the server is out of file descriptors of this process",
        ),
        (
            OSError(errno.ENOENT, "a"),
            500,
            "unexpected error: FileNotFoundError(2, 'a')",
        ),
        (SystemExit(3), 500, "unexpected error: SystemExit(3)"),
    ],
)
def test_an_error_of_a_handler_is_a_response(
    caplog: pytest.LogCaptureFixture, error: BaseException, status: int, text: str
) -> None:
    """One that is not an expected kind is logged."""

    def handler(request: HttpRequest) -> HttpResponse:
        raise error

    target = HttpRouter([Route("/a", handler)], OPEN).find("/a")
    with caplog.at_level(logging.ERROR, "blsnb.serving"):
        response = target.respond(HttpRequest("GET", "/a"))

    assert (status, f'{{"error":"{text}"}}'.encode()) == (
        response.status,
        response.body,
    )
    assert caplog.messages == ["GET /a failed"] * (status == 500)


def test_only_requests_run_one_by_one() -> None:
    """The port learns so from the model and its version."""
    asked = []

    def is_serial(model: str, version: str) -> bool:
        asked.append((model, version))
        return True

    pattern = "/(?P<model>.)/(?P<version>.)?"
    for pool, serial in ((Pool.REQUESTS, True), (Pool.QUERIES, False)):
        router = HttpRouter([Route(pattern, HttpResponse, pool=pool)], OPEN, is_serial)
        assert serial is router.find("/m/3").is_serial()
    assert [("m", "3")] == asked
    assert not HttpRouter([], OPEN).find("/m/").is_serial()
