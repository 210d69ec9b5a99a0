"""Log settings, which clients of both protocols can change."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from blsnb.engine.model_log import ModelLog
from blsnb.engine.request.validation import RequestError

FORMATS = ("default", "ISO8601")
SWITCHES = ("log_info", "log_warning", "log_error")
_INT_MAX = 2**31 - 1
_UNSIGNED = 2**32


@dataclass(slots=True)
class LogSettings:
    """The values of Triton's logging extension. Thread-safe.

    ``blsnb serve`` writes its log accordingly. In a notebook only the verbose level has
    an effect: VERBOSE lines of models are shown if it is at least 1.

    Parameters
    ----------
    log_file
        File of the log, which no client can change; empty for stderr.

    References
    ----------
    server: src/http_server.cc, HandleLogging
    """

    log: ModelLog
    log_file: str = ""
    _on: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(SWITCHES, True))
    _format: str = FORMATS[0]
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self) -> dict[str, str | bool | int]:
        """Return every setting by name, in the extension's order."""
        with self._lock:
            return {
                "log_file": self.log_file,
                **self._on,
                "log_verbose_level": self.log.verbose,
                "log_format": self._format,
            }

    def switch(self, name: str, on: bool) -> None:
        """Set ``log_info``, ``log_warning`` or ``log_error``."""
        with self._lock:
            self._on[name] = on

    def set_verbose_level(self, level: int) -> None:
        """Set ``log_verbose_level``; a level that overflows to a negative one is 0."""
        level %= _UNSIGNED
        with self._lock:
            self.log.verbose = level if level <= _INT_MAX else 0

    def set_format(self, name: str) -> None:
        """Set ``log_format``."""
        if name not in FORMATS:
            raise RequestError(
                f"invalid argument for --log_format, got: {name}", "UNAVAILABLE"
            )
        with self._lock:
            self._format = name

    def refuse_file(self) -> None:
        """Refuse another log file."""
        raise RequestError(
            "log file location can not be updated through network protocol",
            "UNSUPPORTED",
        )
