"""Trace and log settings, which both protocols change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
    return TraceSettings(start, lambda _: None, lambda setting: setting.trace_count)


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


@pytest.mark.parametrize(
    ("collector", "rows"),
    [
        (
            (),
            {
                "trace_level": ["OFF"],
                "trace_rate": ["1000"],
                "trace_count": ["-1"],
                "log_frequency": ["0"],
                "trace_file": [""],
                "trace_mode": ["triton"],
            },
        ),
        (
            (("url", "u"), ("resource", "r")),
            {
                "trace_level": ["OFF"],
                "trace_rate": ["1000"],
                "trace_count": ["-1"],
                "trace_mode": ["triton"],
                "url": ["u"],
                "resource": ["r"],
            },
        ),
    ],
)
def test_each_setting_is_a_row_in_tritons_order(
    collector: tuple[tuple[str, str], ...], rows: dict[str, list[str]]
) -> None:
    """A Collector has its own instead of those of files."""
    found = TraceSetting(collector=collector).rows()

    assert list(rows.items()) == list(found.items())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"trace_rate": 0}, "sample rate must be non-zero"),
        ({"trace_count": 0}, ""),
        ({"trace_file": ""}, "trace file name is not given"),
    ],
)
def test_levels_need_a_rate_a_count_and_a_file(
    change: dict[str, Any], reason: str
) -> None:
    """Without a level any value is kept."""
    start = TraceSetting(trace_level=("TENSORS",), trace_file="f")
    with pytest.raises(RequestError) as refused:
        settings_of(replace(start, **change)).update({})

    told = f"Attempting to set invalid trace setting :{reason}"
    assert told == refused.value.message
    off = replace(start, trace_level=(), **change)
    assert off == settings_of(off).update({})


def test_the_count_of_the_server_is_what_is_left_of_it() -> None:
    """A change keeps the rest if a client set the count, and else begins anew."""
    start = TraceSetting(("TENSORS",), trace_count=5, collector=(("url", "x"),))
    left, changed = [3, 2, 0], list[TraceSetting]()
    settings = TraceSettings(start, changed.append, lambda _: left[0])

    assert [3, 3] == [settings.get(each).trace_count for each in ("", "model")]
    assert 5 == settings.update({"trace_rate": 1}).trace_count
    settings.update({"trace_count": 7})
    left[0] = 2
    assert 2 == settings.update({"trace_rate": 2}).trace_count
    assert [5, 7, 2] == [each.trace_count for each in changed]
    left[0] = 0
    with pytest.raises(RequestError, match="invalid trace setting :"):
        settings.update({"trace_rate": 3})


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
