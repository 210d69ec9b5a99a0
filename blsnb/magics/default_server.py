"""The process-wide default server."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from blsnb.arguments import warn_user
from blsnb.options import options
from blsnb.parts.server_parts import parts_of

if TYPE_CHECKING:
    from blsnb.inference_server import Server
    from blsnb.trace.recorder import Observer

_SETTINGS = (
    "model_repository",
    "triton_release",
    "trace_level",
    "trace_budget_bytes",
    "keep_calls",
    "keep_runs",
    "hang_notice_s",
    "log_verbose",
    "runtime",
    "hostile_placement",
)
_EXIT_TIMEOUT_S = 1.0


class _Default:
    """The default server, once it exists, and the observers of its runs."""

    def __init__(self) -> None:
        self.server: Server | None = None
        self.seen: dict[str, Any] = {}
        """The options in effect, or for which a warning was shown."""
        self.observers: dict[Observer, Callable[[], None]] = {}


_default = _Default()


def server() -> Server:
    """Return the default server of this process; the first call makes it.

    It takes its settings from `blsnb.options` at that moment, and is closed when the
    process ends.
    """
    if _default.server is None or _is_gone(_default.server):
        from blsnb.inference_server import Server

        made = Server(**{name: getattr(options, name) for name in _SETTINGS})
        _default.server = made
        _default.seen = dict(vars(options))
        atexit.register(close_default)
        for observer in _default.observers:
            _default.observers[observer] = parts_of(made).recorder.observe(observer)
    elif _default.seen != vars(options):
        _warn_of_late_settings()
    return _default.server


def _is_gone(server: Server) -> bool:
    """Whether the server was closed; that of a parent process says what to do."""
    return server.closed and not parts_of(server).lifetime.is_copy


def _warn_of_late_settings() -> None:
    """Warn, once, about settings that changed after the server was made."""
    seen, _default.seen = _default.seen, dict(vars(options))
    late = [name for name in _SETTINGS if seen[name] != getattr(options, name)]
    if late:
        named = " and ".join(f"blsnb.options.{name}" for name in late)
        warn_user(
            f"{named} changed after the default server was made; only the next one "
            "follows: blsnb.server().close() closes this one, with its models"
        )


def note_settings() -> None:
    """Note that the default server follows the present options."""
    _default.seen = dict(vars(options))


def started() -> Server | None:
    """Return the default server; None if it has not been made."""
    return _default.server


def close_default() -> None:
    """Close the default server; the next use makes a new, empty one."""
    closing, _default.server = _default.server, None
    if closing is not None:
        atexit.unregister(close_default)
        # Requests in flight must not delay the end of the process for long.
        lifetime = parts_of(closing).lifetime
        lifetime.exit_timeout_s = min(lifetime.exit_timeout_s, _EXIT_TIMEOUT_S)
        closing.close()


def observe(observer: Observer) -> Callable[[], None]:
    """Observe the runs of the default server, and of later ones, until the call."""
    server = _default.server
    _default.observers[observer] = (
        (lambda: None)
        if server is None
        else parts_of(server).recorder.observe(observer)
    )
    return lambda: _default.observers.pop(observer, lambda: None)()
