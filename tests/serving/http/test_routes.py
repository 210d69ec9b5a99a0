"""The table of HTTP routes: which handler and which threads a path has."""

from __future__ import annotations

import pytest
from cells import CONFIG, DOUBLE

from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving.access import CATEGORIES, Access
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http.messages import HttpRequest
from blsnb.serving.http.routes import (
    Guard,
    HttpRouter,
    Pool,
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
