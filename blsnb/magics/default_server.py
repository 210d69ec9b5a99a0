"""The kernel's default server, and the doors to it that need no notebook."""

from __future__ import annotations

import atexit
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from blsnb.options import options
from blsnb.parts.server_parts import parts_of

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


_EXIT_S = 1.0


class _Default:
    """The server, once there is one, and who observes its runs."""

    def __init__(self) -> None:
        self.server: Server | None = None
        self.seen: dict[str, Any] = {}
        """The options as the server was made with them, or was told of since."""
        self.observers: dict[Observer, Callable[[], None]] = {}


_default = _Default()


def server() -> Server:
    """Return the default server of this process; the first call makes it.

    Its settings are those of `blsnb.options` at that moment. It is closed when
    the process ends.
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
        _tell_late_settings()
    return _default.server


def _tell_late_settings() -> None:
    """Warn, once, of settings that were changed after the server was made."""
    seen, _default.seen = _default.seen, dict(vars(options))
    late = [name for name in _SETTINGS if seen[name] != getattr(options, name)]
    if late:
        named = " and ".join(f"blsnb.options.{name}" for name in late)
        warnings.warn(
            f"{named} changed after the default server had started, and counts for "
            "the next one: blsnb.server().close() ends this one, with its models",
            stacklevel=3,
        )


def note_settings() -> None:
    """Note that the default server follows the options as they are now."""
    _default.seen = dict(vars(options))


def started() -> Server | None:
    """Return the default server if there is one; none is made."""
    return _default.server


def close_default() -> None:
    """Close the default server; the next use of it makes a new, empty one."""
    closing, _default.server = _default.server, None
    if closing is not None:
        atexit.unregister(close_default)
        # The process, or its user, wants to go on.
        lifetime = parts_of(closing).lifetime
        lifetime.exit_timeout_s = min(lifetime.exit_timeout_s, _EXIT_S)
        closing.close()


def observe(observer: Observer) -> Callable[[], None]:
    """Observe the runs of the default server, also of one that is made later.

    Returns
    -------
    Callable
        Stops the observation.
    """
    _default.observers[observer] = _nothing
    if _default.server is not None:
        _default.observers[observer] = parts_of(_default.server).recorder.observe(
            observer
        )

    def stop() -> None:
        _default.observers.pop(observer, _nothing)()

    return stop


def _nothing() -> None:
    """Stop an observation that has not begun."""


def infer(
    model_name: str,
    inputs: Mapping[str, Any],
    *,
    outputs: Sequence[str] | None = None,
    version: int | None = None,
    parameters: Mapping[str, bool | int | float | str] | None = None,
    request_id: str = "",
    correlation_id: int | str = 0,
    sequence_start: bool = False,
    sequence_end: bool = False,
    priority: int = 0,
    timeout_us: int = 0,
    client_timeout_s: float | None = None,
) -> Run:
    """Run a request on a model of the default server.

    Parameters
    ----------
    inputs
        Name and value: an array in its own type, or a list, number or string
        that takes the configured type.
    outputs
        Names of the outputs wanted; all of them if None.
    timeout_us
        The request's own field, for schedulers.
    client_timeout_s
        The caller's deadline: ``is_cancelled()`` turns true in the model.

    Raises
    ------
    InferenceError
        The request failed: text, code, and the run to look at.
    WouldHang
        Triton would never answer.
    """
    __tracebackhide__ = True
    return server().infer(
        model_name,
        inputs,
        outputs=outputs,
        version=version,
        parameters=parameters,
        request_id=request_id,
        correlation_id=correlation_id,
        sequence_start=sequence_start,
        sequence_end=sequence_end,
        priority=priority,
        timeout_us=timeout_us,
        client_timeout_s=client_timeout_s,
    )


async def async_infer(
    model_name: str, inputs: Mapping[str, Any], **options: Any
) -> Run:
    """Run a request without blocking the event loop; takes what `infer` takes.

    Raises
    ------
    InferenceError
        The request failed.
    """
    __tracebackhide__ = True
    return await server().async_infer(model_name, inputs, **options)


def stream(model_name: str, inputs: Mapping[str, Any], **options: Any) -> Stream:
    """Run a request and iterate over its responses; takes what `infer` takes.

    Any model can be asked so; a decoupled one must be.

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
