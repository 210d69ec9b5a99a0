"""The chain of calls that failed, read from the run's trace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from blsnb.trace.spans import Span, Trace

_AT = r"(?m)^ +(?P<file>\S.*)\((?P<line>\d+)\): (?P<function>.+)$"
_PENDING = r"execute\(\) of \S+ \(line (?P<line>\d+) of its source\)"
_PREFIX = r"Failed to process the request\(s\) for model '[^']*', message: "


class Link(NamedTuple):
    """One failed call: its model, and the line at which it failed."""

    model: str
    filename: str
    line: int
    """The line that failed or contains the failing call; 0 if unknown."""
    source: str
    """Text of the model's file."""
    calls: str
    """The model called there; empty for the last link."""
    error: str
    """First line of the failure without Triton's prefixes; empty if passed on."""


def failed_chain(trace: Trace) -> list[Link]:
    """Return the failed calls from the client's down to the origin of the failure."""
    failed = [row for row in trace.roots if trace.spans[row].error]
    path: list[Span] = []
    while failed:
        path.append(trace.spans[failed[-1]])
        children = trace.children[failed[-1]]
        failed = [row for row in children if trace.spans[row].error]
    callees = [*path, None][1:]
    return [_link(trace, *pair) for pair in zip(path, callees, strict=True)]


def _link(trace: Trace, span: Span, callee: Span | None) -> Link:
    model = trace.models[span.model]
    filename, line = _place(span.error, model.name)
    filename = filename or "model.py"
    if callee is not None and callee.line:
        line = callee.line
    calls = "" if callee is None else trace.models[callee.model].name
    error = _first_line(span)
    if callee is not None and _first_line(callee) in error:
        error = ""
    return Link(model.name, filename, line, model.source, calls, error)


def _first_line(span: Span) -> str:
    lines = re.sub(_PREFIX, "", span.error).strip().splitlines()
    return lines[0] if lines else ""


def _place(error: str, model: str) -> tuple[str, int]:
    """Return the model's innermost line in Triton's text, or the line that waits."""
    for match in re.finditer(_AT, error):
        if Path(match["file"]).parent.parent.name == model:
            return match["file"], int(match["line"])
    pending = re.search(_PENDING, error)
    return "", int(pending["line"]) if pending else 0
