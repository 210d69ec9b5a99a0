"""The log of models, kept and passed on to Python's logging."""

from __future__ import annotations

import logging
import sys
import time
import types
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from blsnb.engine.request.failure import is_ours
from blsnb.trace.events import Call, LogLine

LogWriter = Callable[[str, str, str, str, int], None]
"""Takes the model, the level, the text, and the file and line of a log line."""
_KEPT = 10_000
_MAX_LINES = 1000
"""Maximum number of log lines kept per call."""
_SEVERITIES = {"WARNING": logging.WARNING, "ERROR": logging.ERROR}


class ModelLogLine(NamedTuple):
    """A line that a model logged."""

    model: str
    level: str
    text: str


class ModelLog:
    """The last lines that models logged; each also goes to ``blsnb.model.NAME``.

    Parameters
    ----------
    verbose
        From 1 on, VERBOSE lines count.
    """

    def __init__(self, verbose: int) -> None:
        self.verbose = verbose
        self.lines: deque[ModelLogLine] = deque(maxlen=_KEPT)

    def write(
        self, model: str, level: str, text: str, filename: str, line: int
    ) -> None:
        """Take a line, and the file and line of the code that logged it."""
        if level == "VERBOSE" and self.verbose < 1:
            return
        self.lines.append(ModelLogLine(model, level, text))
        place = f"{Path(filename).name}:{line}"
        logging.getLogger(f"blsnb.model.{model}").log(
            _SEVERITIES.get(level, logging.INFO),
            "%s",
            text,
            extra={"triton_level": level, "triton_place": place},
        )


def keep_line(call: Call, level: str, text: str) -> None:
    """Add a log line to the record of a call."""
    if call.logs is None:
        call.logs = []
    if len(call.logs) == _MAX_LINES:
        level, text = "INFO", f"only the first {_MAX_LINES} lines are kept\n"
    if len(call.logs) <= _MAX_LINES:
        call.logs.append(LogLine(time.monotonic_ns(), level, text))


def log_position(depth: int) -> tuple[str, int]:
    """Return file and line of the innermost frame that is not of blsnb.

    Parameters
    ----------
    depth
        Number of frames to skip.
    """
    frame: types.FrameType | None = sys._getframe(depth + 1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
