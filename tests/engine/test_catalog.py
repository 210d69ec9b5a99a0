"""Versions that serve, and the errors of requests for others."""

from __future__ import annotations

import numpy as np
import pytest
from cells import CONFIG, DOUBLE

from blsnb.engine.catalog import Catalog, VersionState
from blsnb.engine.metrics.statistics import ModelStatistics
from blsnb.engine.metrics.version_counts import VersionCounts
from blsnb.engine.request.validation import RequestError
from blsnb.errors import ModelLoadError
from blsnb.parts.server_parts import parts_of
from blsnb.pb_utils.backend import Refusal
from blsnb.trace.events import ModelInfo

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
            "doubl",
            -1,
            "'doubl' is not found",
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


class Version:
    """A version that serves, or still runs."""

    waiting_count = 0
    trouble = reason = ""
    has_ready_hook = False
    config = "a configuration"

    def __init__(self, number: int, name: str = "m", tag: str = "") -> None:
        self.info = ModelInfo(name, number, "python", "cpu", name, "")
        self.statistics = ModelStatistics(name, number)
        tags = {"tag": tag} if tag else {}
        self.counts = VersionCounts(self.info, tags, False)
        self.is_running = False
        self.left = []

    def not_ready_reason(self):
        return self.reason

    def replace_abandoned(self, root):
        return [(root, each) for each in self.left]


READY, UNLOADED = VersionState("READY"), VersionState("UNAVAILABLE", "unloaded")


def test_versions_that_are_replaced_are_returned():
    """One that stays is not; one that is left out is unloaded."""
    catalog = Catalog()
    one, two, three = Version(1), Version(2), Version(2)
    assert [] == catalog.put("m", {1: one, 2: two})
    assert [one, two] == catalog.put("m", {2: three})

    assert [three] == catalog.all_versions() == [catalog.find("m")]
    assert {1: UNLOADED, 2: READY} == catalog.states("m")
    assert (["m"], ["m"]) == (catalog.names(), catalog.known_names())
    assert [] == catalog.put("m", {2: three})
    assert [three] == catalog.remove("m")
    assert {1: UNLOADED, 2: UNLOADED} == catalog.states("m")
    assert ([], ["m"], []) == (
        catalog.names(),
        catalog.known_names(),
        catalog.all_versions(),
    )


def test_only_a_model_that_served_was_unloaded():
    """One that failed or serves was not."""
    catalog = Catalog()
    assert not catalog.is_unloaded("m")
    catalog.put("m", {1: Version(1)})
    assert not catalog.is_unloaded("m")
    catalog.remove("m")
    assert catalog.is_unloaded("m")
    catalog.put_failures("m", catalog.states("m"), {2: "Internal: no"})
    assert not catalog.is_unloaded("m")


def test_a_failed_load_changes_the_states_of_versions_that_do_not_serve():
    """The trouble of one that serves is its reason."""
    catalog = Catalog()
    one, two = Version(1), Version(2)
    two.trouble = "no instance"
    catalog.put("m", {1: one, 2: two})
    catalog.put_failures("m", catalog.states("m"), {1: "a", 3: "b", 4: "unloaded"})

    assert {
        1: READY,
        2: VersionState("READY", "no instance"),
        3: VersionState("UNAVAILABLE", "b"),
        4: UNLOADED,
    } == catalog.states("m")
    catalog.forget("m")
    assert 4 == len(catalog.states("m"))
    catalog.remove("m")
    catalog.forget("m")
    assert ({}, []) == (catalog.states("m"), catalog.known_names())


@pytest.mark.parametrize("served", [{}, {1: Version(1)}])
def test_versions_are_loading_unless_they_serve(served):
    """The former states return at the end."""
    catalog = Catalog()
    if served:
        catalog.put("m", served)
    before = catalog.states("m")
    with catalog.loading("m", {1, 2}):
        loading = {1: VersionState("LOADING"), 2: VersionState("LOADING")}
        assert loading | before == catalog.states("m")

    assert before == catalog.states("m")
    assert list(served and ["m"]) == catalog.known_names()


def test_an_unloaded_version_that_still_runs_is_unloading():
    """Others of the model have their states."""
    catalog = Catalog()
    running, over, other = Version(1), Version(2), Version(2, "other")
    running.is_running = other.is_running = True
    catalog.put("m", {1: running, 2: over})
    catalog.put("other", {2: other})
    catalog.remove("m")

    assert {1: VersionState("UNLOADING"), 2: UNLOADED} == catalog.current_states("m")
    assert [
        {"name": "m", "version": "1", "state": "UNLOADING"},
        {
            "name": "m",
            "version": "2",
            "state": "UNAVAILABLE",
            "reason": "unloaded",
        },
    ] == catalog.index("m")
    assert [{"name": "x"}] == catalog.index("x")
    assert {2: READY} == catalog.current_states("other")
    assert {id(running), id(other)} == {id(each) for each in catalog.alive()}


def test_a_load_continues_the_counts_of_one_that_still_runs():
    """Only with equal tags; what has ended is forgotten."""
    catalog = Catalog()
    one, two, tagged = Version(1), Version(1), Version(1, tag="x")
    one.statistics.miss(5)
    catalog.put("m", {1: one})
    catalog.put("m", {1: one})
    assert 1 == one.counts.read()["cache_miss.count"]
    one.is_running = True
    catalog.put("m", {1: two})
    assert one.counts is two.counts
    assert 1 == two.counts.read()["cache_miss.count"]
    catalog.put("m", {1: tagged})

    assert tagged.counts is not one.counts
    assert 0 == tagged.counts.read()["cache_miss.count"]
    assert [("m", 1), ("m", 1)] == [
        (each.name, each.number) for each in catalog.counts()
    ]


def test_all_instances_of_an_ended_request_are_replaced():
    """Those of withdrawn versions, too."""
    catalog = Catalog()
    one, two = Version(1), Version(1)
    one.left, two.left = ["a"], ["b", "c"]
    catalog.put("m", {1: one})
    catalog.put("m", {1: two})

    assert [("root", "a"), ("root", "b"), ("root", "c")] == sorted(
        catalog.replace_abandoned("root")
    )


@pytest.mark.parametrize(
    ("has_hook", "reason", "is_ready"),
    [(False, "", True), (False, "no", True), (True, "", True), (True, "no", False)],
)
def test_a_model_may_say_that_it_is_not_ready(has_hook, reason, is_ready):
    """Without an ``is_ready`` of its own it is, as long as it serves."""
    catalog, version = Catalog(), Version(3)
    version.has_ready_hook, version.reason = has_hook, reason
    catalog.put("m", {3: version})

    assert [is_ready] * 3 == [catalog.is_ready("m", text) for text in ("", "3", " 3")]
    assert [False, False] == [catalog.is_ready("m", "1"), catalog.is_ready("x", "")]
    assert is_ready == catalog.is_model_ready("m")
    with pytest.raises(Refusal, match=r"version string 'a' \(details: stol\), version"):
        catalog.is_ready("m", "a")


def test_a_configuration_is_that_of_a_version_that_serves():
    """Statistics without a name are those of all models."""
    catalog = Catalog()
    catalog.put("m", {1: Version(1), 2: Version(2)})
    catalog.put("a", {1: Version(1, "a")})

    assert ["a configuration", None, None] == [
        catalog.config("m"),
        catalog.config("m", 3),
        catalog.config("x"),
    ]
    assert [("a", "1"), ("m", "1"), ("m", "2")] == [
        (row["name"], row["version"]) for row in catalog.statistics()
    ]
    assert ["2"] == [row["version"] for row in catalog.statistics("m", 2)]
