"""A profile as a file for https://www.speedscope.app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blsnb.trace.profiles.samples import SampleProfile, Stack, StackFrame

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope(profile: SampleProfile) -> dict[str, Any]:
    """Return a profile in speedscope's JSON format: one profile for each model."""
    frames: dict[StackFrame, int] = {}
    profiles = [
        _sampled(name, stacks, profile.interval_ns / 1e6, frames)
        for name, stacks in profile.models().items()
    ]
    listed = [
        {"name": frame.function, "file": frame.file, "line": frame.line}
        for frame in frames
    ]
    return {
        "$schema": _SCHEMA,
        "exporter": "blsnb",
        "shared": {"frames": listed},
        "profiles": profiles,
    }


def _sampled(
    name: str,
    stacks: Mapping[Stack, int],
    interval_ms: float,
    frames: dict[StackFrame, int],
) -> dict[str, Any]:
    samples = [
        [frames.setdefault(frame, len(frames)) for frame in stack] for stack in stacks
    ]
    weights = [count * interval_ms for count in stacks.values()]
    return {
        "type": "sampled",
        "name": name,
        "unit": "milliseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }
