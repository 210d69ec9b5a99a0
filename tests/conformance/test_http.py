"""Metadata, repository and metrics over HTTP, beside the real server."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from .covering import rows
from .over_http import Ask, End
from .targets import Target

Agree = Callable[..., None]
Served = Callable[[Target], End]

ADD = "/v2/models/add"
LOAD, UNLOAD = "/v2/repository/models/add/load", "/v2/repository/models/add/unload"
TRACE, LOGGING = "/v2/trace/setting", "/v2/logging"
SYSTEM, CUDA = "/v2/systemsharedmemory", "/v2/cudasharedmemory"

ASKED = {
    "live": [Ask("/v2/health/live")],
    "ready": [Ask("/v2/health/ready")],
    "server": [Ask("/v2"), Ask("/v2?x=1")],
    "model": [
        Ask(ADD),
        Ask(f"{ADD}/versions/1"),
        Ask(f"{ADD}/versions/9"),
        Ask("/v2/models/nope"),
        Ask("/v2/models/a%20b"),
        Ask(f"{ADD}/versions/{'9' * 20}"),
        Ask("/v2/models/batch"),
        Ask("/v2/models/reshaped"),
        Ask("/v2/models/script_decoupled"),
    ],
    "model ready": [
        Ask(f"{ADD}/ready"),
        Ask(f"{ADD}/versions/1/ready"),
        Ask(f"{ADD}/versions/9/ready"),
        Ask("/v2/models/nope/ready"),
        Ask(f"{ADD}/versions/{'9' * 20}/ready"),
    ],
    "config": [
        Ask(f"{ADD}/config"),
        Ask("/v2/models/batch/versions/1/config"),
        Ask("/v2/models/nope/config"),
    ],
    "no number": [Ask(f"{ADD}/versions/abc"), Ask(f"{ADD}/versions/-1")],
    "no path": [
        Ask(path)
        for path in (
            "/",
            "/v2/",
            "/v2/health",
            "/v2/models",
            "/metrics",
            "//v2",
            f"{ADD}/",
            "/v2/models//ready",
            f"{ADD}/versions/1/trace/setting",
            "/v2/health/live/",
        )
    ],
    "wrong verb": [
        Ask("/v2", b""),
        Ask("/v2/health/live", b""),
        Ask(ADD, b"", "PUT"),
        Ask(f"{ADD}/config", verb="DELETE"),
        Ask(f"{ADD}/ready", b""),
        Ask(f"{ADD}/infer"),
        Ask(f"{ADD}/generate"),
        Ask(f"{ADD}/generate_stream"),
        Ask("/v2/models/stats", b""),
        Ask("/v2/repository/index"),
        Ask(LOAD),
        Ask(f"{SYSTEM}/status", b""),
        Ask(f"{CUDA}/register"),
        Ask(LOGGING, b"", "PUT"),
        Ask(TRACE, verb="DELETE"),
        Ask("/v2", verb="HEAD"),
        Ask("/v2", verb="OPTIONS"),
        Ask("/nope", b"", "PATCH"),
    ],
    "unknown statistics": [
        Ask("/v2/models/nope/stats"),
        Ask(f"{ADD}/versions/9/stats"),
    ],
}


@rows(
    {
        "live": "r6.2/get-v2-health-live",
        "ready": "r6.2/get-v2-health-ready",
        "server": "r6.2/get-v2",
        "model": "r6.2/get-v2-models-m-versions-v",
        "model ready": "r6.2/get-ready",
        "config": "r6.2/get-config",
        "no number": "r3.2/non-numeric-version-in-url",
        "no path": "r6.1/unmatched-path",
        "wrong verb": "r6.1/wrong-verb",
        "unknown statistics": "r6.2/get-stats-v2-models-stats",
    }
)
@pytest.mark.parametrize("asks", ASKED.values(), ids=ASKED)
def test_what_is_asked(agree: Agree, served: Served, asks: list[Ask]) -> None:
    """Status, content type and body agree for every path and method."""

    def case(target: Target) -> list[Any]:
        end = served(target).have("add", "batch", "reshaped", "script_decoupled")
        return end.each(asks)

    agree(case)


@rows("r6.2/get-stats-v2-models-stats")
def test_statistics(agree: Agree, served: Served) -> None:
    """The row of one model; all rows have the same form."""

    def case(target: Target) -> list[Any]:
        end = served(target).anew("optional").have("add")
        status, kind, one = end.ask(Ask("/v2/models/optional/stats"))
        _, _, found = end.ask(Ask("/v2/models/stats"))
        named = [row["name"] for row in found["model_stats"]]
        return [status, kind, one, "add" in named, named == sorted(named)]

    agree(case)


@rows("r6.2/get-8002-metrics")
def test_the_metrics_page(agree: Agree, served: Served) -> None:
    """It has its own port; any other path there is an empty page."""

    def case(target: Target) -> list[Any]:
        end = served(target).have("add")
        found = [
            end.ask(ask, end.metrics_port)
            for ask in (
                Ask("/metrics"),
                Ask("/metrics/"),
                Ask("/nope"),
                Ask("/metrics", b""),
            )
        ]
        counts = 'nv_inference_request_success{model="add",version="1"}'
        return [[*each[:2], counts in str(each[2])] for each in found]

    agree(case)


FILES = {
    "parameters": {
        "config": '{"backend": "python", "output": [{"name": "Y", "data_type": '
        '"TYPE_INT32", "dims": [1]}], "instance_group": [{"kind": "KIND_CPU"}]}',
        "file:1/model.py": base64.b64encode(
            b"class TritonPythonModel:\n    def execute(self, requests):\n"
            b"        return []\n"
        ).decode(),
    }
}
WITHOUT_CONFIG = {"parameters": {"file:1/model.py": "YWJj"}}
CONTROLLED = {
    "index": [
        Ask("/v2/repository/index", {"ready": True}),
        Ask("/v2/repository/any/index", {"ready": True}),
        Ask("/v2/repository/index", {"ready": 5}),
        Ask("/v2/repository/index", b"x"),
    ],
    "load": [
        Ask(LOAD, b""),
        Ask(LOAD, {"parameters": {}}),
        Ask(LOAD, {"parameters": 5}),
        Ask(LOAD, {"parameters": {"config": 5}}),
        Ask(LOAD, {"parameters": {"config": "nope"}}),
        Ask(LOAD, b"x"),
        Ask(LOAD, b"[]"),
        Ask("/v2/repository/other/models/add/load", b""),
        Ask("/v2/repository/models/nope/load", b""),
    ],
    "any other key": [
        Ask(LOAD, {"parameters": {"x": "1"}}),
        Ask(LOAD, {"parameters": {"x\0y": "1"}}),
        Ask(LOAD, {"parameters": {"config\0y": "{}"}}),
        Ask(LOAD, {"parameters": {"config\0y": 5, "config": "nope"}}),
    ],
    "files": [
        Ask("/v2/repository/models/given/load", FILES),
        Ask("/v2/models/given"),
        Ask("/v2/repository/models/given/unload", b""),
        Ask("/v2/models/given"),
        Ask("/v2/repository/models/given/load", WITHOUT_CONFIG),
    ],
    "unload": [
        Ask("/v2/repository/models/nope/unload", b""),
        Ask("/v2/repository/models/nope/unload", b"x"),
        Ask("/v2/repository/models/nope/unload", {"parameters": 5}),
        Ask(
            "/v2/repository/models/nope/unload",
            {"parameters": {"unload_dependents": 5}},
        ),
        Ask("/v2/repository/other/models/nope/unload", b""),
    ],
}


@rows(
    {
        "index": "r6.2/post-v2-repository-index-a-repository",
        "load": "r6.2/post-v2-repository-models-m-load",
        "any other key": "r1.4/any-other-key",
        "files": "r6.2/post-v2-repository-models-m-load",
        "unload": "r6.2/post-v2-repository-models-m-unload",
    }
)
@pytest.mark.parametrize("asks", CONTROLLED.values(), ids=CONTROLLED)
def test_the_repository(agree: Agree, served: Served, asks: list[Ask]) -> None:
    """Its index, loads and unloads."""

    def case(target: Target) -> list[Any]:
        end = served(target).have("add")
        return [_only(each, "add") for each in end.each(asks)]

    agree(case)


def _only(answer: list[Any], name: str) -> list[Any]:
    """Return one model's rows of an index: other tests load others."""
    if isinstance(answer[2], list):
        answer[2] = [row for row in answer[2] if row["name"] == name]
    return answer
