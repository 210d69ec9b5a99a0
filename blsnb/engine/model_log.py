"""Log lines of models, kept and forwarded to Python's logging."""

from __future__ import annotations

import logging
import sys
import types
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Unpack

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.request.failure import is_ours
from blsnb.printable import counted
from blsnb.trace.events import Call, LogLine

LogPlace = tuple[str, int, Call | None]
"""File and line of the code that logs, and its call."""
LogWriter = Callable[[str, str, str, Unpack[LogPlace]], None]
"""Receives a log line: model, level, text and place."""
NoteWriter = Callable[[str, str, str], None]
"""Receives a note about a model: model, level, text."""
_KEPT = 10_000
"""Maximum number of log lines kept of all models."""
_MAX_LINES = 1000
"""Maximum number of log lines kept per call."""
_SEVERITIES = {"WARNING": logging.WARNING, "ERROR": logging.ERROR}


class ModelLogLine(NamedTuple):
    """One log line of a model."""

    model: str
    level: str
    text: str
    run_start_ns: int = 0
    """Start of the run of its call; 0 for a line of no call."""
    call_id: int = -1


class ModelLog:
    """The latest log lines of models; each is also sent to ``blsnb.model.NAME``.

    Parameters
    ----------
    verbose
        VERBOSE lines are kept if this is at least 1.
    """

    def __init__(self, verbose: int) -> None:
        self.verbose = verbose
        self.lines: deque[ModelLogLine] = deque(maxlen=_KEPT)
        self.count = 0
        """Number of lines written so far."""

    def __repr__(self) -> str:
        return f"<ModelLog: {counted(len(self.lines), 'line')}>"

    def write(
        self,
        model: str,
        level: str,
        text: str,
        filename: str,
        line: int,
        call: Call | None = None,
    ) -> None:
        """Keep a log line, with the file and line of the code that wrote it."""
        if level == "VERBOSE" and self.verbose < 1:
            return
        place = () if call is None else (_run_start_ns(call), call.id)
        self.lines.append(ModelLogLine(model, level, text, *place))
        self.count += 1
        self._send(model, level, text, triton_place=f"{Path(filename).name}:{line}")

    def note(self, model: str, level: str, text: str) -> None:
        """Keep a line of blsnb's own, for notebooks.

        The log of ``blsnb serve`` leaves it out, since it has the events themselves.
        """
        self.lines.append(ModelLogLine(model, level, text))
        self.count += 1
        self._send(model, level, text, is_note=True)

    def _send(self, model: str, level: str, text: str, **extra: object) -> None:
        severity = _SEVERITIES.get(level, logging.INFO)
        extra["triton_level"] = level
        logging.getLogger(f"blsnb.model.{model}").log(severity, "%s", text, extra=extra)


def _run_start_ns(call: Call) -> int:
    while call.parent is not None:
        call = call.parent
    return call.request_start_ns


def keep_line(call: Call, level: str, text: str) -> None:
    """Add a log line to the record of a call."""
    if call.logs is None:
        call.logs = []
    if len(call.logs) == _MAX_LINES:
        level, text = "INFO", f"only the first {_MAX_LINES} lines are kept\n"
    if len(call.logs) <= _MAX_LINES:
        call.logs.append(LogLine(CLOCK.now_ns(), level, text))


def log_position() -> tuple[str, int]:
    """Return file and line of the innermost frame outside blsnb."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
