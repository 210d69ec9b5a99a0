"""The process-wide default server, and the functions that use it."""

from __future__ import annotations

import atexit
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from blsnb.options import options
from blsnb.parts.server_parts import parts_of
from blsnb.request_fields import RequestOptions, takes_request_options

if TYPE_CHECKING:
    from blsnb.benchmark.bench import Bench
    from blsnb.inference_server import Server
    from blsnb.response_stream import Stream
    from blsnb.run import Run
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
        """The options that the server follows, or about which was warned."""
        self.observers: dict[Observer, Callable[[], None]] = {}


_default = _Default()


def server() -> Server:
    """Return the default server of this process; the first call makes it.

    It takes its settings from `blsnb.options` at that moment, and is closed when the
    process ends.
    """
    if _default.server is None or _default.server.closed:
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


def _warn_of_late_settings() -> None:
    """Warn, once, about settings that changed after the server was made."""
    seen, _default.seen = _default.seen, dict(vars(options))
    late = [name for name in _SETTINGS if seen[name] != getattr(options, name)]
    if late:
        named = " and ".join(f"blsnb.options.{name}" for name in late)
        warnings.warn(
            f"{named} changed after the default server was made, and applies to the "
            "next one only: blsnb.server().close() closes this one, with its models",
            stacklevel=3,
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
        _nothing if server is None else parts_of(server).recorder.observe(observer)
    )
    return lambda: _default.observers.pop(observer, _nothing)()


def _nothing() -> None:
    """Stop an observation that has not begun."""


@takes_request_options
def infer(
    model_name: str,
    inputs: Mapping[str, Any],
    **options: Unpack[RequestOptions],
) -> Run:
    """Run a request on a model of the default server.

    Parameters
    ----------
    inputs
        Name and value: an array in its own type, or a list, number or string
        that takes the configured type.
    outputs
        Names of the requested outputs; all if None.
    timeout_us
        Timeout in the queue, in microseconds; a field of the request.
    client_timeout_s
        The client's deadline in seconds; then the request is cancelled.

    Raises
    ------
    InferenceError
        The request failed; the error has text, code and run.
    WouldHang
        Triton would never answer.
    """
    __tracebackhide__ = True
    return server().infer(model_name, inputs, **options)


@takes_request_options
async def async_infer(
    model_name: str, inputs: Mapping[str, Any], **options: Unpack[RequestOptions]
) -> Run:
    """Run a request without blocking the event loop; takes what `infer` takes.

    Raises
    ------
    InferenceError
        The request failed.
    """
    __tracebackhide__ = True
    return await server().async_infer(model_name, inputs, **options)


@takes_request_options
def stream(
    model_name: str, inputs: Mapping[str, Any], **options: Unpack[RequestOptions]
) -> Stream:
    """Run a request and iterate over its responses; takes what `infer` takes.

    Decoupled models need it; other models send one response.

    Raises
    ------
    InferenceError
        The request was refused.
    """
    __tracebackhide__ = True
    return server().stream(model_name, inputs, **options)


def bench(model_name: str, inputs: Mapping[str, Any], **options: Any) -> Bench:
    """Measure a model under load; takes what `blsnb.Server.bench` takes.

    Raises
    ------
    InferenceError
        The model does not serve.
    """
    return server().bench(model_name, inputs, **options)
