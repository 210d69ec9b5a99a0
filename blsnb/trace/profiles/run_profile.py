"""The samples of a run, by model and line, and their file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from blsnb.arguments import path_of
from blsnb.files.whole import output_file
from blsnb.printable import counted, printable
from blsnb.trace.events import ModelInfo
from blsnb.trace.profiles.samples import (
    KIND,
    SampleProfile,
    Stack,
    StackFrame,
    own_line,
    read_samples,
)
from blsnb.trace.spans import Trace

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_SHOWN_LINES = 20
"""Maximum number of lines in the text of a profile."""


class ProfiledLine(NamedTuple):
    """A line of a model with its samples."""

    model: str
    file: str
    line: int
    place: str
    """The cell and its line, such as ``"In[3] line 7"``; empty without a cell."""
    samples: int
    text: str
    """The line; empty if the source is not known."""


class RunProfile:
    """Where the time of a run goes inside its models.

    Parameters
    ----------
    trace
        The calls of the run.
    samples
        The sampled stacks.
    """

    def __init__(self, trace: Trace, samples: SampleProfile) -> None:
        self._trace = trace
        self.samples = samples

    def __repr__(self) -> str:
        return printable(repr(self.samples).replace("SampleProfile", "RunProfile"))

    def __str__(self) -> str:
        """List the lines with most samples."""
        samples = self.samples
        total = samples.count or 1
        ms = samples.interval_ns / 1e6
        lines = [f"{counted(samples.count, 'sample')}, one every {ms:.2f} ms"]
        if samples.interval_ns > 1.25 * samples.wanted_ns:
            lines[0] += f" ({samples.wanted_ns / 1e6:.2f} ms was not reached)"
        for row in self.lines()[:_SHOWN_LINES]:
            place = row.place or f"{row.file}:{row.line}"
            share = f"{row.samples / total:6.1%} {row.samples * ms:9,.1f} ms"
            lines.append(f"{share}  {row.model}  {place}  {row.text.strip()}".rstrip())
        return "\n".join([printable(line) for line in lines])

    def models(self) -> dict[str, Counter[Stack]]:
        """Return the sampled stacks of each model, with their counts."""
        return self.samples.models()

    def lines(self) -> list[ProfiledLine]:
        """Return the lines of all models, those with most samples first."""
        infos = {info.name: info for info in self._trace.models}
        found = []
        for name, stacks in self.models().items():
            counts: Counter[StackFrame] = Counter()
            for stack, samples in stacks.items():
                counts[own_line(stack)] += samples
            found += [
                _line(name, infos.get(name), frame, samples)
                for frame, samples in counts.items()
            ]
        return sorted(found, key=lambda row: -row.samples)

    def save(self, path: str | Path) -> Path:
        """Write a file for https://www.speedscope.app, completely or not at all.

        Parameters
        ----------
        path
            Such as ``"run.speedscope.json"``.

        Returns
        -------
        Path
            The written file.
        """
        path = path_of(path=path)
        text = json.dumps(speedscope(self.samples))
        with output_file(path) as partial:
            partial.write_text(text, encoding="utf-8")
        return path


def _line(
    model: str, info: ModelInfo | None, frame: StackFrame, samples: int
) -> ProfiledLine:
    place = text = ""
    if info is not None and frame.is_own and frame.file == "model.py":
        source = info.source.split("\n")
        text = source[frame.line - 1] if frame.line <= len(source) else ""
        place = info.place(frame.line) if info.origin is not None else ""
    return ProfiledLine(model, frame.file, frame.line, place, samples, text)


def profile_of(trace: Trace) -> RunProfile | None:
    """Return the samples of a run; None if it has none.

    Raises
    ------
    TraceError
        The profile of the run's file is damaged.
    """
    found = [each for each in trace.profiles if each.kind == KIND]
    return RunProfile(trace, read_samples(found[0])) if found else None


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
