"""TraceSettings: how Triton would trace, for the server and for single models."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from blsnb.engine.catalog import Catalog
from blsnb.engine.request.validation import RequestError

LEVELS = ("TIMESTAMPS", "TENSORS")
OFF = "OFF"
_INTEGER = re.compile(r"\s*([+-]?\d+)")
_LONGEST = 100
"""Digits of a number that are looked at."""
_INT_MAX = 2**31 - 1
_INT_MIN = -(2**31)
_UNSIGNED = 2**32
_LEAST_COUNT = -1


@dataclass(frozen=True, slots=True)
class TraceSetting:
    """The values in force, as Triton's trace extension names them.

    Parameters
    ----------
    levels
        Of ``"TIMESTAMPS"`` and ``"TENSORS"``; none is ``"OFF"``.
    rate
        One request of so many is traced.
    count
        How many are traced at most; -1 for no limit.
    log_frequency
        After how many traces a file is written; 0 for once, at the end.
    file
        Name of the trace file; empty if none was given at the start.
    mode
        Always ``"triton"``.
    """

    levels: tuple[str, ...] = ()
    rate: int = 1000
    count: int = -1
    log_frequency: int = 0
    file: str = ""
    mode: str = "triton"

    def rows(self) -> dict[str, list[str]]:
        """Return every value as text, by the extension's names and in its order.

        Only the level has several.
        """
        return {
            "trace_level": list(self.levels) or [OFF],
            "trace_rate": [str(self.rate)],
            "trace_count": [str(self.count)],
            "log_frequency": [str(self.log_frequency)],
            "trace_file": [self.file],
            "trace_mode": [self.mode],
        }


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Values that somebody set; None where the next wider setting counts."""

    levels: tuple[str, ...] | None = None
    rate: int | None = None
    count: int | None = None
    log_frequency: int | None = None


class Cleared:
    """Takes the place of a value that is to be forgotten."""


CLEARED = Cleared()


@dataclass(frozen=True, slots=True)
class TraceChange:
    """What a client wants to change: None leaves a value, `CLEARED` forgets it.

    Parameters
    ----------
    levels
        From `parse_levels`.
    rate, count, log_frequency
        From `parse_rate`, `parse_count` and `parse_log_frequency`.
    """

    levels: tuple[str, ...] | Cleared | None = None
    rate: int | Cleared | None = None
    count: int | Cleared | None = None
    log_frequency: int | Cleared | None = None


class TraceSettings:
    """The server's trace setting and those of its models; used from any thread.

    They are kept and told as Triton does. blsnb's own recording of every request
    is another matter: ``trace_level`` of `blsnb.Server`.

    Parameters
    ----------
    start
        What the server was started with: to it a cleared value goes back.

    References
    ----------
    server: src/tracer.cc, TraceManager
    """

    def __init__(self, start: TraceSetting | None = None) -> None:
        self._start = start or TraceSetting()
        self._chosen: dict[str, _Chosen] = {}
        """By model; the server's own by the empty name."""
        self._lock = threading.Lock()

    def get(self, model: str = "") -> TraceSetting:
        """Return what is in force for a model, or for the server."""
        with self._lock:
            return self._in_force(model, self._chosen)

    def _in_force(self, model: str, chosen: dict[str, _Chosen]) -> TraceSetting:
        found = self._start
        for name in dict.fromkeys(("", model)):
            each = chosen.get(name, _Chosen())
            values = {field.name: getattr(each, field.name) for field in fields(each)}
            given = {key: value for key, value in values.items() if value is not None}
            found = replace(found, **given)
        return found

    def update(self, change: TraceChange, model: str = "") -> TraceSetting:
        """Change the setting of a model, or the server's, and return what is in force.

        Raises
        ------
        RequestError
            It could not be obeyed; nothing is changed.
        """
        with self._lock:
            chosen = dict(self._chosen)
            before = chosen.get(model, _Chosen())
            chosen[model] = _changed(before, change)
            found = self._in_force(model, chosen)
            _check(found)
            self._chosen = chosen
            return found


def _changed(before: _Chosen, change: TraceChange) -> _Chosen:
    wanted = {each.name: getattr(change, each.name) for each in fields(change)}
    values: dict[str, Any] = {
        name: None if isinstance(value, Cleared) else value
        for name, value in wanted.items()
        if value is not None
    }
    return replace(before, **values)


def _check(setting: TraceSetting) -> None:
    if setting.levels and not setting.file:
        # The missing blank is Triton's.
        raise RequestError(
            "Attempting to set invalid trace setting :trace file name is not given"
        )


def refuse_file() -> None:
    """Refuse another trace file, whatever its name.

    Raises
    ------
    RequestError
        Always.
    """
    raise RequestError(
        "trace file location can not be updated through network protocol",
        "UNSUPPORTED",
    )


def check_model(catalog: Catalog, name: str) -> None:
    """Refuse the setting of a model that is not ready to serve.

    Raises
    ------
    RequestError
        It is not, or there is none.

    References
    ----------
    server: src/http_server.cc, HandleTrace; src/grpc/grpc_server.cc, RegisterTrace
    """
    if not catalog.is_model_ready(name):
        # The blank before the colon is Triton's.
        raise RequestError(f"Request for unknown model : {name}")


def parse_levels(given: Sequence[str]) -> tuple[str, ...] | None:
    """Return the levels that a client names; None where it names no known one.

    Raises
    ------
    RequestError
        ``OFF`` is not alone.
    """
    if OFF in given:
        if len(given) > 1:
            raise RequestError("Expect only one trace level 'OFF' is specified")
        return ()
    return tuple(level for level in LEVELS if level in given) or None


def parse_rate(text: str) -> int:
    """Return how many requests there are for each that is traced.

    Raises
    ------
    RequestError
        It is no number, or too large.
    """
    return _unsigned("trace_rate", text)


def parse_count(text: str) -> int:
    """Return how many requests are traced at most; -1 for no limit.

    Raises
    ------
    RequestError
        It is no number, or out of range.
    """
    number = _parse("trace_count", text, f"[ {_LEAST_COUNT}, {_INT_MAX} ]")
    if number < _LEAST_COUNT:
        raise RequestError(
            f"Unable to parse 'trace_count'. Expecting value >= {_LEAST_COUNT}, "
            f"got:{text}"
        )
    return number


def parse_log_frequency(text: str) -> int:
    """Return after how many traces a file is written.

    Raises
    ------
    RequestError
        It is no number, or too large.
    """
    return _unsigned("log_frequency", text)


PARSERS: dict[str, Callable[[str], int]] = {
    "trace_rate": parse_rate,
    "trace_count": parse_count,
    "log_frequency": parse_log_frequency,
}
"""What reads the value of each setting that is a number, by the extension's names."""


def _unsigned(name: str, text: str) -> int:
    # Triton reads a signed number and keeps it as an unsigned one.
    return _parse(name, text, f"[ 0, {_UNSIGNED - 1} ]") % _UNSIGNED


def _parse(name: str, text: str, span: str) -> int:
    """Return the number with which a text begins, as C++ reads one."""
    found = _INTEGER.match(text)
    if found is None:
        raise RequestError(f"Unable to parse '{name}', got: {text}")
    # A longer text is out of range, and Python would not read one without end.
    number = int(found[1]) if len(found[1]) < _LONGEST else _UNSIGNED
    if not _INT_MIN <= number <= _INT_MAX:
        raise RequestError(
            f"Unable to parse '{name}', value is out of range {span}, got: {text}"
        )
    return number
