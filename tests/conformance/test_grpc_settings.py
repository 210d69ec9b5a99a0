"""Trace and log settings over gRPC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tritonclient.grpc import service_pb2 as pb

from .covering import rows
from .served import Line
from .served_models import line


def trace(wire: Line, settings: Mapping[str, Sequence[str]], model: str = "") -> Any:
    """Change the trace settings; return those in force."""
    asked = pb.TraceSettingRequest(model_name=model)
    for name, values in settings.items():
        asked.settings[name].value.extend(values)
    return wire.call("TraceSetting", asked)


TRACE = {
    "nothing": {},
    "a level": {"trace_level": ["TIMESTAMPS", "TENSORS"]},
    "an unknown level": {"trace_level": ["NOPE"]},
    "two levels, one is off": {"trace_level": ["OFF", "TENSORS"]},
    "a rate": {"trace_rate": ["5"]},
    "a rate that is none": {"trace_rate": ["x"]},
    "two rates": {"trace_rate": ["5", "6"]},
    "a count below": {"trace_count": ["-5"]},
    "a frequency that is none": {"log_frequency": ["x"]},
    "too large": {"log_frequency": ["99999999999"]},
    "a file": {"trace_file": ["x"]},
    "a mode": {"trace_mode": ["opentelemetry"]},
    "unknown": {"other": ["x"]},
    "cleared": {"trace_rate": [], "trace_level": []},
}


@rows(
    {
        "a level": "r5.2/levels-off-timestamps-tensors-list",
        "an unknown level": "r5.2/levels-off-timestamps-tensors-list",
        "a rate that is none": "r5.2/trace_rate-x",
        "a count below": "r5.2/trace_count-5",
        "a file": "r5.2/trace_file",
        "a mode": "r5.2/unknown-key-trace_mode",
        "unknown": "r5.2/unknown-key-trace_mode",
        "cleared": "r5.2/value-null",
    }
)
@pytest.mark.parametrize("name", TRACE)
def test_trace_settings_are_kept(agree, beside, name):
    """Invalid ones are refused with Triton's text."""

    def case(target):
        with line(beside(target), "same") as wire:
            found = trace(wire, TRACE[name])
            trace(wire, {"trace_rate": [], "trace_level": []})
            return found

    agree(case)


@rows("r5.2/model-specific-unknown-model")
def test_a_model_has_trace_settings_of_its_own(agree, beside):
    """An unknown model has none, whatever else is wrong."""

    def case(target):
        with line(beside(target), "same") as wire:
            return [
                trace(wire, {"trace_rate": ["7"]}, "net_same"),
                trace(wire, {}),
                trace(wire, {"trace_rate": []}, "net_same"),
                trace(wire, {"trace_rate": ["x"]}, "nope"),
            ]

    agree(case)


LOG = {
    "nothing": {},
    "a switch": {"log_info": False},
    "a switch that is a text": {"log_info": "x"},
    "a switch that is a number": {"log_warning": 1},
    "a switch without a value": {"log_error": None},
    "a level": {"log_verbose_level": 1},
    "a level that is a switch": {"log_verbose_level": True},
    "a format": {"log_format": "ISO8601"},
    "an unknown format": {"log_format": "x"},
    "a format that is a number": {"log_format": 2},
    "a file": {"log_file": "x"},
    "unknown": {"other": "x"},
}


@pytest.mark.parametrize("name", LOG)
def test_log_settings_are_kept(agree, beside, name):
    """Invalid ones are refused with Triton's text."""

    def log(wire: Line, settings: Mapping[str, Any]) -> Any:
        asked = pb.LogSettingsRequest()
        for key, value in settings.items():
            setting = asked.settings[key]
            match value:
                case None:
                    setting.SetInParent()
                case bool():
                    setting.bool_param = value
                case int():
                    setting.uint32_param = value
                case _:
                    setting.string_param = value
        return wire.call("LogSettings", asked)

    def case(target):
        with line(beside(target), "same") as wire:
            found = log(wire, LOG[name])
            log(
                wire,
                {"log_info": True, "log_verbose_level": 0, "log_format": "default"},
            )
            return found

    agree(case)
