"""Options of tritonserver for traces."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from blsnb.command.arguments import CommandError

TRACE_OPTIONS = {
    "trace-file": "triton,file",
    "trace-rate": "rate",
    "trace-count": "count",
    "trace-log-frequency": "triton,log-frequency",
}
"""The settings of --trace-config that older options set."""
_FIELDS = {
    "rate": "trace_rate",
    "count": "trace_count",
    "triton,file": "trace_file",
    "triton,log-frequency": "log_frequency",
}
TRACE_LEVELS = {"OFF": "off", "TIMESTAMPS": "timestamps", "TENSORS": "tensors"}


def settings_of(given: argparse.Namespace) -> Iterator[tuple[str, str]]:
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
        mode, comma, _ = name.rpartition(",")
        if not (name and value):
            raise CommandError(
                "--trace-config option format is '<trace mode>,<setting>=<value>'. "
                f"Got {text}"
            )
        if "opentelemetry" in (mode, value if name == "mode" else ""):
            raise CommandError(
                f"--trace-config={text} is not supported: traces are not sent to "
                "collectors"
            )
        if (comma and mode != "triton") or (name == "mode" and value != "triton"):
            raise CommandError(
                f"invalid value for trace mode option: {mode or value}. Available "
                'options are "triton" and "opentelemetry"'
            )
        if name != "level":
            yield name, value


def trace_settings(given: argparse.Namespace) -> dict[str, Any]:
    """Return the trace settings as clients read them."""
    found: dict[str, Any] = {"trace_level": _levels(given)}
    for name, value in settings_of(given):
        if name == "mode":
            continue
        if name not in _FIELDS:
            raise CommandError(
                f"--trace-config={name}={value} is not supported; expected one of "
                f"level, mode, {', '.join(_FIELDS)}"
            )
        if name == "triton,file":
            found["trace_file"] = value
        else:
            found[_FIELDS[name]] = _number(value)
    return found


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise CommandError(f"Invalid option value. Got {text}") from None


def _levels(given: argparse.Namespace) -> tuple[str, ...]:
    levels = list(given.trace_level)
    for text in given.trace_config:
        name, _, value = text.partition("=")
        if name == "level":
            levels.append(value.upper())
    for level in levels:
        if level not in TRACE_LEVELS:
            raise CommandError(f"invalid value for trace level option: {level.lower()}")
    return tuple(level for level in levels if level != "OFF")


def trace_level(given: argparse.Namespace) -> dict[str, str]:
    """Return the level of the recorder: the most detailed one of those given."""
    is_configured = any(text.startswith("level=") for text in given.trace_config)
    if not (is_configured or given.trace_level):
        return {}
    levels = _levels(given)
    return {
        "trace_level": TRACE_LEVELS[
            max(levels, default="OFF", key=list(TRACE_LEVELS).index)
        ]
    }
