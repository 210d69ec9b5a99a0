"""What models log, on stderr, in the format of Triton's own log."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable

MODELS = "blsnb.model"


class TritonFormatter(logging.Formatter):
    """Formats ``W1120 06:35:12.123456 4242 model.py:12] "message"``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record; the message is escaped as in JSON."""
        level = record.levelname[0]
        clock = time.strftime("%m%d %H:%M:%S", time.localtime(record.created))
        micros = int(record.created % 1 * 1e6)
        place = getattr(record, "triton_place", f"{record.filename}:{record.lineno}")
        message = json.dumps(record.getMessage(), ensure_ascii=False)
        return f"{level}{clock}.{micros:06d} {os.getpid()} {place}] {message}"


class TritonHandler(logging.Handler):
    """Writes warnings and errors of models to the stderr of the running cell."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(TritonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line; stderr is looked up each time, as cells may redirect it."""
        try:
            sys.stderr.write(f"{self.format(record)}\n")
        except Exception:
            self.handleError(record)


def register() -> Callable[[], None]:
    """Add the handler to the models' logger; return what takes it away."""
    logger = logging.getLogger(MODELS)
    handler = TritonHandler()
    logger.addHandler(handler)
    return lambda: logger.removeHandler(handler)
