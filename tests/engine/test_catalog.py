"""Versions that serve, and the errors of requests for others."""

from __future__ import annotations

import numpy as np
import pytest
from cells import CONFIG, DOUBLE

from blsnb.engine.request.validation import RequestError
from blsnb.errors import ModelLoadError
from blsnb.parts.server_parts import parts_of

TWO = CONFIG + "version_policy { specific { versions: [ 1, 3 ] } }"
UNKNOWN = "Request for unknown model: "
SERVING = (
    "Versions of 'double' that serve: {}. Without a version_policy in the "
    "configuration only the newest does."
)


@pytest.fixture
def catalog(server):
    """The catalog of a server with one model of two versions, and an unloaded one."""
    for number in (1, 3):
        server.define("double", DOUBLE, config=CONFIG, version=number)
    server.define("double", DOUBLE, config=TWO, version=3)
    server.define("gone", DOUBLE, config=CONFIG)
    server.unload("gone")
    return parts_of(server).engine.catalog


@pytest.mark.parametrize(
    ("name", "version", "text", "code", "advice"),
    [
        (
            "doubel",
            -1,
            "'doubel' is not found",
            "NOT_FOUND",
            "Did you mean 'double'? Models that are loaded: double.",
        ),
        ("x", 1, "'x' is not found", "NOT_FOUND", "Models that are loaded: double."),
        (
            "double",
            2,
            "'double' version 2 is not found",
            "NOT_FOUND",
            SERVING.format("1, 3"),
        ),
        (
            "gone",
            1,
            "'gone' version 1 is not at ready state",
            "UNAVAILABLE",
            SERVING.format("none").replace("double", "gone"),
        ),
        (
            "gone",
            -1,
            "'gone' has no available versions",
            "NOT_FOUND",
            "It is not loaded: %triton load gone, or server.load('gone').",
        ),
    ],
)
def test_a_version_that_does_not_serve_is_refused(
    catalog, name, version, text, code, advice
):
    """The text is Triton's; the advice lists what serves."""
    with pytest.raises(RequestError) as caught:
        catalog.find(name, version)

    error = caught.value
    assert (UNKNOWN + text, code, advice) == (error.message, error.code, error.advice)


def test_the_newest_version_serves_requests_without_one(catalog):
    """Others are found by their number."""
    assert [3, 3, 1] == [
        catalog.find("double", number).info.version for number in (-1, 3, 1)
    ]


@pytest.mark.parametrize(
    ("name", "version", "text", "advice"),
    [
        (
            "gone",
            -1,
            "requested model 'gone' is not available",
            "Models that are loaded: double.",
        ),
        (
            "double",
            2,
            "requested model version is not available for model 'double'",
            "",
        ),
    ],
)
def test_counts_of_a_version_that_does_not_serve_are_refused(
    catalog, name, version, text, advice
):
    """Advice lists the models that serve."""
    with pytest.raises(RequestError) as caught:
        catalog.batching(name, version)

    error = caught.value
    assert (text, "INVALID_ARG", advice) == (error.message, error.code, error.advice)


def test_each_version_has_its_counts(server, catalog):
    """They are in the order of the numbers; without one, those of the newest."""
    server.infer("double", {"X": np.ones(1, np.float32)}, version=1)

    assert [("double", 1), ("double", 3)] == [
        (each.name, each.number) for each in catalog.counts()
    ]
    rows = server.statistics("double")["model_stats"]
    assert [("1", 1), ("3", 0)] == [
        (row["version"], row["inference_count"]) for row in rows
    ]
    assert ({1: 1}, {}) == (
        catalog.batching("double", 1).sizes,
        catalog.batching("double").sizes,
    )


def test_a_server_without_models_has_none_to_name(server):
    """The advice says so."""
    catalog = parts_of(server).engine.catalog

    assert "Models that are loaded: none." == catalog.advice_on_names("x")


def test_files_without_a_configuration_cannot_be_loaded(server):
    """The reason is Triton's."""
    with pytest.raises(ModelLoadError) as caught:
        server.load("m", files={"1/model.py": b""})

    assert (
        "Load parameter 'config' must be specified for model file override"
        == caught.value.reason
    )
