"""The server's log, in Triton's line format."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import TextIO

from blsnb.printable import printable
from blsnb.serving.core.log_settings import LogSettings

_SWITCHES = {"E": "log_error", "W": "log_warning", "I": "log_info"}


class TritonFormatter(logging.Formatter):
    """Formats ``W1120 06:35:12.123456 4242 model.py:12] "message"`` as Triton does.

    Parameters
    ----------
    iso
        Whether lines begin ``2026-11-20T06:35:12Z W 4242``, as in format ``ISO8601``.

    References
    ----------
    common: src/logging.cc, LogMessage::LogPreamble
    """

    def __init__(self, *, iso: bool = False) -> None:
        super().__init__()
        self._iso = iso

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record; the message is escaped as in JSON."""
        place = getattr(record, "triton_place", f"{record.filename}:{record.lineno}")
        message = record.getMessage()
        if record.exc_info:
            message += f"\n{self.formatException(record.exc_info)}"
        text = printable(json.dumps(message, ensure_ascii=False))
        return f"{self._start(record)} {os.getpid()} {printable(place)}] {text}"

    def _start(self, record: logging.LogRecord) -> str:
        level = level_of(record)
        if self._iso:
            clock = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
            return f"{clock} {level}"
        clock = time.strftime("%m%d %H:%M:%S", time.localtime(record.created))
        return f"{level}{clock}.{int(record.created % 1 * 1e6):06d}"


def level_of(record: logging.LogRecord) -> str:
    """Return the letter of a record's level: E, W or I."""
    severity = getattr(record, "triton_severity", None)
    if severity is not None:
        return str(severity)
    if record.levelno >= logging.ERROR:
        return "E"
    return "W" if record.levelno >= logging.WARNING else "I"


class ServerLog(logging.Handler):
    """Writes what the server and its models log.

    Parameters
    ----------
    settings
        Decides which lines are written, and their format; clients may change it.
    path
        File to append to; empty for stderr.

    Raises
    ------
    OSError
        The file cannot be written.
    """

    def __init__(self, settings: LogSettings, path: str = "") -> None:
        super().__init__(logging.INFO)
        self.settings = settings
        self._file: TextIO | None = None
        if path:
            # Closed with the handler.
            self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115
        own, iso = TritonFormatter(), TritonFormatter(iso=True)
        self._formatters = {"default": own, "ISO8601": iso}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, unless its level is switched off or it is for notebooks."""
        if getattr(record, "is_note", False):
            return
        values = self.settings.get()
        if not values[_SWITCHES[level_of(record)]]:
            return
        try:
            line = self._formatters[str(values["log_format"])].format(record)
            stream = self._file or sys.stderr
            stream.write(f"{line}\n")
            stream.flush()
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Close the file."""
        super().close()
        if self._file is not None:
            self._file.close()
