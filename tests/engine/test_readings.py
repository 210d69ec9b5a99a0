"""Counters of all versions, as a dashboard reads them."""

from __future__ import annotations

import numpy as np
import pytest
from cells import CONFIG, DOUBLE

from blsnb.engine.readings import VersionReading, read, unwatch
from blsnb.engine.scheduling.resource_admission import ResourceAdmission
from blsnb.engine.settings import Settings
from blsnb.parts.server_parts import parts_of


class Abandoned:
    """Executions that continue after Ctrl-C."""

    def __init__(self, **found: list[str]) -> None:
        self._found = {(name, 1): texts for name, texts in found.items()}

    def running(self):
        return self._found


def test_each_version_has_its_counters(server):
    """Those that do not serve have zeros; one that still runs is listed."""
    for name in ("served", "gone"):
        server.define(name, DOUBLE, config=CONFIG)
    server.unload("gone")
    catalog = parts_of(server).engine.catalog
    first = read(catalog, Abandoned(lost=["still running"]), 3, 77)
    server.infer("served", {"X": np.ones(2, np.float32)})

    second = read(catalog, Abandoned(served=["a", "b"]), 0, 78)

    unloaded = VersionReading("gone", 1, "UNAVAILABLE", "unloaded", *[0] * 8, ())
    assert (77, 3) == (first.at_ns, first.in_flight)
    assert (
        unloaded,
        VersionReading("served", 1, "READY", "", 0, 1, *[0] * 6, ()),
        VersionReading("lost", 1, "REMOVED", "still running", *[0] * 8, ()),
    ) == first.versions
    assert unloaded == VersionReading("gone", 1, "UNAVAILABLE", "unloaded")
    gone, served = second.versions
    [(end_ns, took_ns)] = served.latest
    assert unloaded == gone
    assert ("READY", "a; b", 0, 1, 0, 1, 0, 1, 1) == served[2:11]
    assert 0 < took_ns < end_ns
    assert served.queued_ns >= 0


def test_a_server_that_is_not_watched_keeps_no_latest_requests(server):
    """The next reading starts anew."""
    server.define("m", DOUBLE, config=CONFIG)
    catalog = parts_of(server).engine.catalog
    read(catalog, Abandoned(), 0, 0)
    server.infer("m", {"X": np.ones(2, np.float32)})

    unwatch(catalog)

    [version] = read(catalog, Abandoned(), 0, 0).versions
    assert (1, ()) == (version.succeeded, version.latest)


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        (Settings((24, 10)), []),
        (
            Settings((24, 10), strict_model_config=True, cache_bytes=1),
            ["--disable-auto-complete-config", "--cache-config=local,size=1"],
        ),
        (
            Settings(
                (24, 10),
                rate_limits=ResourceAdmission({"R": {None: 2, 1: 3}, "S": {0: 1}}),
            ),
            [
                "--rate-limit=execution_count",
                "--rate-limit-resource=R:2",
                "--rate-limit-resource=R:3:1",
                "--rate-limit-resource=S:1:0",
            ],
        ),
    ],
)
def test_settings_are_the_arguments_of_a_real_server(settings, arguments):
    """Those that are its defaults are left out."""
    assert arguments == settings.arguments()
