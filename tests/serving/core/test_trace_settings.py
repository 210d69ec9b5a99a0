"""How Triton would trace and log, as both protocols keep it."""

from __future__ import annotations

import pytest

from blsnb.engine.model_log import ModelLog
from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.log_settings import LogSettings
from blsnb.serving.core.trace_settings import (
    CLEARED,
    TraceChange,
    TraceSetting,
    TraceSettings,
    parse_levels,
    parse_rate,
)


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
