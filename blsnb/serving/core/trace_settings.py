"""Trace settings of the server and of single models, as Triton keeps them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from blsnb.engine.catalog import Catalog
from blsnb.engine.request.validation import RequestError

LEVELS = ("TIMESTAMPS", "TENSORS")
OFF = "OFF"
_INTEGER = re.compile(r"\s*([+-]?\d+)")
_MAX_DIGITS = 100
"""Maximum number of characters of a number that are parsed."""
_INT_MAX = 2**31 - 1
_INT_MIN = -(2**31)
_UNSIGNED = 2**32
_MIN_COUNT = -1
Change = Mapping[str, tuple[str, ...] | int | None]
"""New values by name; None restores the value of the next wider setting."""


@dataclass(frozen=True, slots=True)
class TraceSetting:
    """The values in force, with the names of Triton's trace extension.

    Parameters
    ----------
    trace_level
        ``"TIMESTAMPS"``, ``"TENSORS"`` or both; empty for ``"OFF"``.
    trace_rate
        One in this many requests is traced.
    trace_count
        Maximum number of traces; -1 for no limit.
    log_frequency
        Number of traces after which a file is written; 0 to write once, at the end.
    trace_file
        Name of the trace file; empty if none was given at the start.
    trace_mode
        ``"triton"``, or ``"opentelemetry"`` with a Collector.
    collector
        Names and values of the settings of mode opentelemetry.
    """

    trace_level: tuple[str, ...] = ()
    trace_rate: int = 1000
    trace_count: int = -1
    log_frequency: int = 0
    trace_file: str = ""
    trace_mode: str = "triton"
    collector: tuple[tuple[str, str], ...] = ()

    def rows(self) -> dict[str, list[str]]:
        """Return every value as text; only the level may have several."""
        common = {
            "trace_level": list(self.trace_level) or [OFF],
            "trace_rate": [str(self.trace_rate)],
            "trace_count": [str(self.trace_count)],
        }
        files = {
            "log_frequency": [str(self.log_frequency)],
            "trace_file": [self.trace_file],
        }
        collector = {name: [value] for name, value in self.collector}
        mode = {"trace_mode": [self.trace_mode]}
        return {**common, **({} if self.collector else files), **mode, **collector}


class TraceSettings:
    """The trace setting of the server and those of its models. Thread-safe.

    Those of the server decide which requests a Collector receives. They have no
    further effect: `blsnb.Server` records every request at its ``trace_level``.

    Parameters
    ----------
    start
        The setting at the start.
    changed
        Called with each new setting of the server.
    left
        Returns how many traces the setting of the server still permits.

    References
    ----------
    server: src/tracer.cc, TraceManager
    """

    def __init__(
        self,
        start: TraceSetting,
        changed: Callable[[TraceSetting], None],
        left: Callable[[TraceSetting], int],
    ) -> None:
        self._start = start
        self._changed = changed
        self._left = left
        self._values: dict[str, dict[str, Any]] = {}
        """Values that clients set, by model; those of the server by an empty name."""
        self._lock = threading.Lock()

    def get(self, model: str = "") -> TraceSetting:
        """Return the setting in force for a model, or for the server."""
        with self._lock:
            return replace(self._server, **self._known(model))

    @property
    def _server(self) -> TraceSetting:
        setting = replace(self._start, **self._values.get("", {}))
        return replace(setting, trace_count=self._left(setting))

    def _known(self, model: str) -> dict[str, Any]:
        """Return the values that clients set, with the rest of the server's count."""
        known = self._values.get(model, {})
        if not model and "trace_count" in known:
            return known | {"trace_count": self._server.trace_count}
        return known

    def update(self, change: Change, model: str = "") -> TraceSetting:
        """Change all values, of a model or of the server, or none if one is invalid."""
        with self._lock:
            changed = {**self._known(model), **change}
            kept = {name: each for name, each in changed.items() if each is not None}
            found = replace(self._server if model else self._start, **kept)
            _check(found)
            self._values[model] = kept
            if not model:
                self._changed(found)
            return found


def _check(setting: TraceSetting) -> None:
    if setting.trace_level and not setting.trace_rate:
        raise RequestError(
            "Attempting to set invalid trace setting :sample rate must be non-zero"
        )
    if setting.trace_level and not setting.trace_count:
        # Triton gives no reason.
        raise RequestError("Attempting to set invalid trace setting :")
    if setting.trace_level and not setting.trace_file and not setting.collector:
        # The missing blank is Triton's.
        raise RequestError(
            "Attempting to set invalid trace setting :trace file name is not given"
        )


def refuse_file() -> None:
    """Refuse another trace file."""
    raise RequestError(
        "trace file location can not be updated through network protocol",
        "UNSUPPORTED",
    )


def check_model(catalog: Catalog, name: str) -> None:
    """Refuse the setting of a model that is not ready.

    References
    ----------
    server: src/http_server.cc, HandleTrace; src/grpc/grpc_server.cc, RegisterTrace
    """
    if not catalog.is_model_ready(name):
        # The blank before the colon is Triton's.
        raise RequestError(f"Request for unknown model : {name}")


def parse_levels(names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the known levels among names, or None without a known one."""
    if OFF in names:
        if len(names) > 1:
            raise RequestError("Expect only one trace level 'OFF' is specified")
        return ()
    return tuple(level for level in LEVELS if level in names) or None


def _parse_count(text: str) -> int:
    number = _parse("trace_count", f"[ {_MIN_COUNT}, {_INT_MAX} ]", text)
    if number < _MIN_COUNT:
        raise RequestError(
            f"Unable to parse 'trace_count'. Expecting value >= {_MIN_COUNT}, "
            f"got:{text}"
        )
    return number


def _parse_unsigned(name: str, text: str) -> int:
    # Triton reads a signed number and stores it as an unsigned one.
    return _parse(name, f"[ 0, {_UNSIGNED - 1} ]", text) % _UNSIGNED


def _parse(name: str, span: str, text: str) -> int:
    """Return the number at the start of a text, as C++ reads one."""
    found = _INTEGER.match(text)
    if found is None:
        raise RequestError(f"Unable to parse '{name}', got: {text}")
    # A longer text is out of range, and Python refuses very long ones.
    number = int(found[1]) if len(found[1]) < _MAX_DIGITS else _UNSIGNED
    if not _INT_MIN <= number <= _INT_MAX:
        raise RequestError(
            f"Unable to parse '{name}', value is out of range {span}, got: {text}"
        )
    return number


PARSERS: dict[str, Callable[[str], int]] = {
    "trace_rate": partial(_parse_unsigned, "trace_rate"),
    "trace_count": _parse_count,
    "log_frequency": partial(_parse_unsigned, "log_frequency"),
}
"""Parser of each setting that is a number; raises `RequestError` with Triton's text."""
