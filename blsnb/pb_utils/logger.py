"""A model's log, at Triton's four levels; and the events of the server."""

from __future__ import annotations

import functools
import logging
from typing import Any, cast

from blsnb.pb_utils.backend import EngineCalls
from blsnb.pb_utils.compiled.compiled_type import (
    Compiled,
    CompiledType,
    no_constructor,
)
from blsnb.pb_utils.compiled.enums import LogLevel
from blsnb.pb_utils.compiled.signature import compiled, expect, string

_events = logging.getLogger("blsnb.server")
_INFO = LogLevel(0)


class Logger(Compiled):
    """The model's log; has static methods only.

    References
    ----------
    python_backend: src/pb_log.cc, src/pb_stub.cc, Logger
    """

    __slots__ = ()
    LogLevel = LogLevel
    INFO, WARNING, ERROR, VERBOSE = LogLevel.__members__.values()
    __init__ = no_constructor("Logger")


def _text(message: Any) -> str:
    """Return the message, with replacements for bytes that are not UTF-8."""
    if isinstance(message, bytes):
        return message.decode("utf-8", errors="replace")
    return string(message)


def _log(message: str, level: LogLevel = _INFO) -> tuple[str, str]:
    """Return level and text of a call of ``log``."""
    expect(level, LogLevel)
    return level.name, _text(message)


def _at(level: str) -> Any:
    """Return a function that returns level and text of a call at one level."""

    def log(message: str) -> tuple[str, str]:
        return level, _text(message)

    return log


_METHODS = {
    "log": (_log, f", level: c_python_backend_utils.Logger.LogLevel = {LogLevel(0)!r}"),
    "log_info": (_at("INFO"), ""),
    "log_warn": (_at("WARNING"), ""),
    "log_error": (_at("ERROR"), ""),
    "log_verbose": (_at("VERBOSE"), ""),
}


def bound_logger(backend: EngineCalls) -> type[Logger]:
    """Return the class that writes to an instance's log."""
    methods = {
        name: staticmethod(_bound(backend, name, reader, rest))
        for name, (reader, rest) in _METHODS.items()
    }
    body = {**methods, "__slots__": (), "__module__": Logger.__module__}
    bound: Any = CompiledType("Logger", (Logger,), body)
    return cast("type[Logger]", bound)


def _bound(backend: EngineCalls, name: str, reader: Any, rest: str) -> Any:
    @compiled(f"{name}(message: str{rest}) -> None")
    @functools.wraps(reader)
    def write(*args: Any, **kwargs: Any) -> None:
        backend.log(*reader(*args, **kwargs))

    return write


def server_event(severity: str, text: str, *args: object) -> None:
    """Log an event; Python's level is INFO, so that notebooks show none.

    Parameters
    ----------
    severity
        ``"I"``, ``"W"`` or ``"E"``, as Triton's log has it.
    text, args
        As of `logging.Logger.info`.
    """
    extra = {"triton_severity": severity}
    _events.info(text, *args, extra=extra, stacklevel=2)
