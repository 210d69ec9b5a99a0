"""Options of tritonserver for traces."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Any

from blsnb.command.arguments import CommandError
from blsnb.serving.core.trace_settings import LEVELS, OFF, TraceSetting

TRACE_OPTIONS = {
    "trace-file": "triton,file",
    "trace-rate": "rate",
    "trace-count": "count",
    "trace-log-frequency": "triton,log-frequency",
}
"""The settings of --trace-config that older options set."""
_OPENTELEMETRY = "opentelemetry"
_FIELDS = {
    "rate": "trace_rate",
    "count": "trace_count",
    "triton,file": "trace_file",
    "triton,log-frequency": "log_frequency",
}
_MODES = ("triton", _OPENTELEMETRY)
_COLLECTOR = {
    "url": "http://localhost:4318/v1/traces",
    "bsp_schedule_delay": "5000",
    "bsp_max_export_batch_size": "512",
    "bsp_max_queue_size": "2048",
}
"""The settings of mode opentelemetry, with Triton's defaults."""
_LEVELS = {
    **dict.fromkeys(("off", "false"), OFF),
    **dict.fromkeys(("timestamps", "true", "on", "min", "max"), "TIMESTAMPS"),
    "tensors": "TENSORS",
}


def _given_settings(given: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield names and values of the trace settings, without their level.

    Raises
    ------
    CommandError
        A setting is malformed or unknown; in Triton's words where there are some.
    """
    for option, name in TRACE_OPTIONS.items():
        if (value := getattr(given, option.replace("-", "_"))) is not None:
            yield name, value
    for text in given.trace_config:
        name, _, value = text.partition("=")
        mode, comma, setting = name.rpartition(",")
        mode, name = mode.lower(), f"{mode.lower()}{comma}{setting}"
        value = value.lower() if name == "mode" else value
        if not (name and value):
            raise CommandError(
                "--trace-config option format is '<trace mode>,<setting>=<value>'. "
                f"Got {text}"
            )
        if (comma and mode not in _MODES) or (name == "mode" and value not in _MODES):
            raise CommandError(
                f"invalid value for trace mode option: {mode or value}. Available "
                'options are "triton" and "opentelemetry"'
            )
        if name != "level":
            yield name, value


def unused_settings(given: argparse.Namespace) -> list[str]:
    """Return the names of the settings without effect here."""
    names = list(dict.fromkeys(name for name, _ in _given_settings(given)))
    used = {"mode"}
    if trace_settings(given).get("trace_mode") == _OPENTELEMETRY:
        used |= {"rate", "count", f"{_OPENTELEMETRY},url"}
    return [name for name in names if name not in used]


def trace_settings(given: argparse.Namespace) -> dict[str, Any]:
    """Return the trace settings as clients read them."""
    found: dict[str, Any] = {"trace_level": _levels(given)}
    collector = dict(_COLLECTOR)
    for name, value in _given_settings(given):
        setting = name.removeprefix(f"{_OPENTELEMETRY},")
        if name == "mode":
            found["trace_mode"] = value
        elif setting != name and setting in collector:
            collector[setting] = value
        elif name not in _FIELDS:
            raise CommandError(
                f"--trace-config={name}={value} is not supported; expected one of "
                f"level, mode, {', '.join(_FIELDS)}, "
                + ", ".join(f"{_OPENTELEMETRY},{each}" for each in collector)
            )
        elif name == "triton,file":
            found["trace_file"] = value
        else:
            number = _number(value)
            # Triton stores a signed number; only the count is one.
            found[_FIELDS[name]] = number if name == "count" else number % 2**32
    if found.get("trace_mode") == _OPENTELEMETRY:
        found["collector"] = tuple(collector.items())
    return found


def collector_arguments(given: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `blsnb.Server` that name a Collector.

    Nothing is sent until a port has applied the trace setting.
    """
    setting = TraceSetting(**trace_settings(given))
    if setting.trace_mode != _OPENTELEMETRY:
        return {}
    return {"otlp": dict(setting.collector)["url"], "otlp_count": 0}


def _number(text: str) -> int:
    """Parse the number at the start of a text, as C's ``stoi`` does."""
    found = re.match(r"[ \t-\r]*([+-]?[0-9]+)", text)
    if found is None:
        raise CommandError(f"Invalid option value. Got {text}")
    number = int(found[1])
    if not -(2**31) <= number < 2**31:
        raise CommandError(f"Provided option value is out of bound. Got {text}")
    return number


def _levels(given: argparse.Namespace) -> tuple[str, ...]:
    """Return the levels, the most detailed one last; none if a --trace-level is OFF.

    OFF in --trace-config changes nothing beside another level.

    References
    ----------
    server: src/command_line_parser.cc, ParseTraceLevelOption, PostProcessTraceArgs
    """
    levels = []
    for text in map(str.lower, _level_texts(given)):
        if text not in _LEVELS:
            raise CommandError(f"invalid value for trace level option: {text}")
        levels.append(_LEVELS[text])
    if OFF in levels[: len(given.trace_level)]:
        return ()
    return tuple(each for each in LEVELS if each in levels)


def _level_texts(given: argparse.Namespace) -> list[str]:
    settings = (text.partition("=") for text in given.trace_config)
    levels = [value for name, _, value in settings if name == "level"]
    return [*given.trace_level, *levels]


def trace_level(given: argparse.Namespace) -> dict[str, str]:
    """Return the level of the recorder, if given: the most detailed one of several.

    With a Collector it is never off, because clients can switch tracing on.
    """
    if not _level_texts(given):
        return {}
    least = "TIMESTAMPS" if collector_arguments(given) else OFF
    return {"trace_level": (least, *_levels(given))[-1].lower()}
