"""Logger: lines of a model's log, with Triton's four levels."""

from __future__ import annotations

import functools
from typing import Any

from blsnb.pb_utils.backend import Backend
from blsnb.pb_utils.enums import LogLevel
from blsnb.pb_utils.signature import compiled, expect, string


def _level_property(value: int) -> property:
    def level(cls: Any) -> LogLevel:
        return LogLevel(value)

    return property(level)


_INFO = LogLevel(0)


_INFO = LogLevel(0)


class _Levels(type):
    """Gives the class Logger its levels as read-only attributes."""

    INFO, WARNING, ERROR, VERBOSE = map(_level_property, range(4))


class Logger(metaclass=_Levels):
    """Writes to the model's log; has static methods only.

    References
    ----------
    python_backend: src/pb_log.cc, src/pb_stub.cc, Logger
    """

    LogLevel = LogLevel

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("c_python_backend_utils.Logger: No constructor defined!")


def _log(message: str, level: LogLevel = _INFO) -> tuple[str, str]:
    """Return level and text of the general method."""
    expect(level, LogLevel)
    return level.name, string(message)


def _at(level: str) -> Any:
    """Return a function that gives level and text of a method of one level."""

    def log(message: str) -> tuple[str, str]:
        return level, string(message)

    return log


_METHODS = {
    "log": (_log, f", level: c_python_backend_utils.Logger.LogLevel = {LogLevel(0)!r}"),
    "log_info": (_at("INFO"), ""),
    "log_warn": (_at("WARNING"), ""),
    "log_error": (_at("ERROR"), ""),
    "log_verbose": (_at("VERBOSE"), ""),
}


def bound_logger(backend: Backend) -> type[Logger]:
    """Return the class whose static methods write to an instance's log."""
    methods = {
        name: staticmethod(_bound(backend, name, reader, rest))
        for name, (reader, rest) in _METHODS.items()
    }
    return type("Logger", (Logger,), {**methods, "__module__": Logger.__module__})


def _bound(backend: Backend, name: str, reader: Any, rest: str) -> Any:
    @compiled(f"{name}(message: str{rest}) -> None")
    @functools.wraps(reader)
    def write(*args: Any, **kwargs: Any) -> None:
        backend.log(*reader(*args, **kwargs))

    return write


Logger.__module__ = "c_python_backend_utils"
