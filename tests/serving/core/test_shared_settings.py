"""Metadata and settings that both end points tell."""

from __future__ import annotations

import pytest
from cells import CONFIG, DOUBLE, cell

from blsnb.engine.model_log import ModelLog
from blsnb.engine.validation import RequestError
from blsnb.errors import ModelLoadError
from blsnb.inference_server import Server
from blsnb.serving.core.log_settings import LogSettings
from blsnb.serving.core.metadata import (
    model_metadata,
    parse_version,
    server_is_ready,
    server_version,
)
from blsnb.serving.core.trace_settings import (
    CLEARED,
    TraceChange,
    TraceSetting,
    TraceSettings,
    parse_levels,
    parse_rate,
)


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ((24, 10), "2.51.0"),
        ((25, 1), "2.54.0"),
        ((25, 6), "2.59.0"),
        ((25, 7), "2.59.1"),
        ((25, 8), "2.60.0"),
        ((26, 7), "2.71.0"),
    ],
)
def test_the_version_of_a_release(release: tuple[int, int], version: str) -> None:
    """As the server itself says it."""
    assert version == server_version(release)


def test_a_server_is_ready_unless_a_model_failed(server: Server) -> None:
    """One that was unloaded does not matter."""
    assert server_is_ready(server.catalog)
    server.define("double", DOUBLE, config=CONFIG)
    server.unload("double")
    assert server_is_ready(server.catalog)

    broken = cell("pass", methods="def initialize(self, args):\n    raise ValueError")
    server.define("double", DOUBLE, config=CONFIG)
    folder = server.repository.directory("double")
    (folder.path / "1" / "model.py").write_text(broken)
    server.unload("double")
    with pytest.raises(ModelLoadError):
        server.load("double")
    assert not server_is_ready(server.catalog)


def test_the_shape_of_a_batching_model_has_its_axis(server: Server) -> None:
    """As requests must have it."""
    server.define("double", DOUBLE, config=f"{CONFIG} max_batch_size: 4")

    (given,) = model_metadata(server.catalog, "double")["inputs"]
    assert {"name": "X", "datatype": "FP32", "shape": [-1, -1]} == given


@pytest.mark.parametrize("text", ["abc", "-2", "9" * 30, "9" * 5000])
def test_a_version_that_is_none_is_refused(text: str) -> None:
    """Also one that Python would not even read."""
    with pytest.raises(RequestError, match="failed to get model version"):
        parse_version(text)


def test_a_model_has_what_the_server_has_unless_it_has_its_own() -> None:
    """A value that is cleared is the server's again."""
    settings = TraceSettings()
    settings.update(TraceChange(rate=8))
    settings.update(TraceChange(rate=3, count=4), "model")

    assert (3, 4) == (settings.get("model").rate, settings.get("model").count)
    assert (8, -1) == (settings.get("other").rate, settings.get().count)
    assert 8 == settings.update(TraceChange(rate=CLEARED), "model").rate
    settings.update(TraceChange(rate=CLEARED))
    assert 1000 == settings.get("model").rate


def test_levels_need_a_file() -> None:
    """With one they are told as they were set, in Triton's order."""
    change = TraceChange(levels=parse_levels(["TENSORS", "NOPE", "TIMESTAMPS"]))
    with pytest.raises(RequestError, match="trace file name is not given"):
        TraceSettings().update(change)

    found = TraceSettings(TraceSetting(file="f")).update(change)
    assert ["TIMESTAMPS", "TENSORS"] == found.rows()["trace_level"]
    assert ["f"] == found.rows()["trace_file"]


def test_a_change_that_is_refused_changes_nothing() -> None:
    """Not even in part."""
    settings = TraceSettings()
    with pytest.raises(RequestError):
        settings.update(TraceChange(levels=("TENSORS",), rate=5))

    assert 1000 == settings.get().rate


def test_a_number_without_end_is_out_of_range() -> None:
    """Python would not even read it."""
    with pytest.raises(RequestError, match="out of range"):
        parse_rate("9" * 5000)


def test_the_verbose_level_is_the_log_of_models() -> None:
    """From 1 on their verbose lines are kept."""
    log = ModelLog(0)
    settings = LogSettings(log)
    settings.set_verbose_level(1)
    log.write("model", "VERBOSE", "seen", "model.py", 1)

    assert ["seen"] == [line.text for line in log.lines]
    assert 1 == settings.get()["log_verbose_level"]
