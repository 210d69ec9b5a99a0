"""Trace and log settings, which both protocols change."""

from __future__ import annotations

import pytest

from blsnb.engine.model_log import ModelLog
from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.log_settings import LogSettings
from blsnb.serving.core.trace_settings import (
    PARSERS,
    TraceSetting,
    TraceSettings,
    parse_levels,
)


def settings_of(start: TraceSetting) -> TraceSettings:
    """Return settings that begin with a value."""
    return TraceSettings(start, lambda setting: None)


def test_a_model_inherits_the_settings_of_the_server() -> None:
    """A value that is cleared is inherited again."""
    settings = settings_of(TraceSetting())
    settings.update({"trace_rate": 8})
    settings.update({"trace_rate": 3, "trace_count": 4}, "model")

    model, other = settings.get("model"), settings.get("other")
    assert (3, 4) == (model.trace_rate, model.trace_count)
    assert (8, -1) == (other.trace_rate, settings.get().trace_count)
    assert 8 == settings.update({"trace_rate": None}, "model").trace_rate
    settings.update({"trace_rate": None})
    assert 1000 == settings.get("model").trace_rate


def test_levels_need_a_file() -> None:
    """Known levels are then reported in Triton's order."""
    change = {"trace_level": parse_levels(["TENSORS", "NOPE", "TIMESTAMPS"])}
    with pytest.raises(RequestError, match=r"trace file name is not given$"):
        settings_of(TraceSetting()).update(change)

    found = settings_of(TraceSetting(trace_file="f")).update(change)
    assert ["TIMESTAMPS", "TENSORS"] == found.rows()["trace_level"]
    assert ["f"] == found.rows()["trace_file"]


def test_a_refused_change_changes_nothing() -> None:
    """A valid value beside an invalid one is not kept either."""
    settings = settings_of(TraceSetting())
    with pytest.raises(RequestError):
        settings.update({"trace_level": ("TENSORS",), "trace_rate": 5})

    assert 1000 == settings.get().trace_rate


def test_a_very_long_number_is_out_of_range() -> None:
    """Python refuses to convert it."""
    with pytest.raises(RequestError, match="out of range"):
        PARSERS["trace_rate"]("9" * 5000)


def test_the_verbose_level_applies_to_models() -> None:
    """Level 1 keeps their verbose lines."""
    log = ModelLog(0)
    settings = LogSettings(log)
    settings.set_verbose_level(1)
    log.write("model", "VERBOSE", "seen", "model.py", 1)

    assert ["seen"] == [line.text for line in log.lines]
    assert 1 == settings.get()["log_verbose_level"]
