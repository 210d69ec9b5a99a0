"""Settings of the recorder: environment variables, read once."""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FOLDER = "BLSNB_RECORD"
"""Variable that names the folder; without it nothing is recorded."""
_PREFIX = "BLSNB_RECORDER_"
IDS = ("request_id", "correlation_id")
"""Ids of a request: columns of a file, and methods of a request."""
REDACTED = "<redacted>"
"""Text in place of a redacted one."""


class RecorderSettings(NamedTuple):
    """What is recorded, and how much of it."""

    folder: str
    rate: float = 1.0
    """Share of the executions that are recorded."""
    errors_only: bool = False
    slower_than_ms: float = 0.0
    """Minimum duration of a recorded execution, in milliseconds."""
    models: tuple[str, ...] = ("*",)
    """Patterns of the models whose executions are recorded."""
    file_bytes: int = 256 << 20
    """Maximum number of bytes of a file; the next file follows it."""
    total_bytes: int = 1 << 30
    """Maximum number of bytes of all files in the folder."""
    tensor_bytes: int = 1 << 20
    """Maximum number of bytes of a recorded value; larger ones are summarised."""
    redact_tensors: tuple[str, ...] = ()
    """Patterns of tensor names whose values are left out."""
    redact_parameters: tuple[str, ...] = ()
    """Patterns of parameter names whose values are left out."""
    redact_ids: tuple[str, ...] = ()
    """``request_id`` and ``correlation_id``, or one of them."""
    redact_errors: tuple[str, ...] = ()
    """Patterns of model names whose error texts are left out."""
    trace: bool = True
    """Whether BLS requests without ``trace`` get that of their caller."""


class InvalidSetting(ValueError):
    """A variable has a value that the recorder does not accept."""


def read_settings(environ: Mapping[str, str]) -> RecorderSettings | None:
    """Return the settings in environment variables; None if nothing is recorded.

    Raises
    ------
    InvalidSetting
        A variable is unknown or has an invalid value.
    """
    folder = environ.get(FOLDER)
    if not folder:
        return None
    given = {name: environ[name] for name in environ if name.startswith(_PREFIX)}
    values: dict[str, Any] = {}
    for variable, text in given.items():
        name = variable[len(_PREFIX) :].lower()
        if name not in _READ:
            known = ", ".join(_PREFIX + each.upper() for each in _READ)
            raise InvalidSetting(f"{variable} is unknown; there are {known}")
        read, expected = _READ[name]
        try:
            values[name] = read(text)
        except ValueError:
            raise InvalidSetting(
                f"{variable}={text!r} is not valid; expected {expected}"
            ) from None
    return RecorderSettings(folder, **values)


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of the patterns matches a name."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _number(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(text)
    return number


def _share(text: str) -> float:
    number = _number(text)
    if number > 1:
        raise ValueError(text)
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _switch(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(text)
    return text == "1"


def _patterns(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def _id_names(text: str) -> tuple[str, ...]:
    names = _patterns(text)
    if not set(names) <= set(IDS):
        raise ValueError(text)
    return names


_SWITCH = (_switch, "0 or 1")
_PATTERNS = (_patterns, "")  # No text is invalid.
_COUNT = (_count, "a number of bytes")
_READ: dict[str, tuple[Callable[[str], Any], str]] = {
    "rate": (_share, "a number from 0 to 1"),
    "errors_only": _SWITCH,
    "slower_than_ms": (_number, "a number of milliseconds"),
    "models": _PATTERNS,
    "file_bytes": _COUNT,
    "total_bytes": _COUNT,
    "tensor_bytes": _COUNT,
    "redact_tensors": _PATTERNS,
    "redact_parameters": _PATTERNS,
    "redact_ids": (_id_names, "request_id, correlation_id, or both with a comma"),
    "redact_errors": _PATTERNS,
    "trace": _SWITCH,
}
