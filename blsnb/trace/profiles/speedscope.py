"""A profile as a file for https://www.speedscope.app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blsnb.trace.profiles.samples import SampleProfile, StackFrame

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope(
    profile: SampleProfile, models: Mapping[str, list[int]]
) -> dict[str, Any]:
    """Return a profile in speedscope's JSON format: one profile for each model.

    Parameters
    ----------
    models
        Ids of the calls by model.
    """
    frames: dict[StackFrame, int] = {}
    profiles = [
        _sampled(name, profile, calls, frames) for name, calls in models.items()
    ]
    listed = [
        {"name": frame.function, "file": frame.file, "line": frame.line}
        for frame in frames
    ]
    return {
        "$schema": _SCHEMA,
        "exporter": "blsnb",
        "shared": {"frames": listed},
        "profiles": [each for each in profiles if each["samples"]],
    }


def _sampled(
    name: str,
    profile: SampleProfile,
    calls: list[int],
    frames: dict[StackFrame, int],
) -> dict[str, Any]:
    stacks = profile.stacks(calls)
    samples = [
        [frames.setdefault(frame, len(frames)) for frame in stack] for stack in stacks
    ]
    weights = [count * profile.interval_ns / 1e6 for count in stacks.values()]
    return {
        "type": "sampled",
        "name": name,
        "unit": "milliseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }
