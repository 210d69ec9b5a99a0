"""The request of a form: sent to the server, or written as a cell."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from blsnb.form.value import Value
from blsnb.request_fields import RequestOptions
from blsnb.results.response import Response
from blsnb.results.response_stream import Stream
from blsnb.results.run import Run

_MAX_LINE = 88
"""Maximum length of a call written on one line, in characters."""
_SHOWN_RESPONSES = 20
"""Maximum number of responses that are shown while they arrive."""
_PAUSE_S = 0.1
"""Pause between two pictures of a stream, in seconds."""


class Sends(Protocol):
    """A server that takes requests."""

    @property
    def infer(self) -> Callable[..., Run]:
        """Runs a request with one response."""

    @property
    def stream(self) -> Callable[..., Stream]:
        """Runs a request with any number of responses."""


def send(
    server: Sends,
    name: str,
    inputs: Mapping[str, Any],
    options: RequestOptions,
    arrived: Callable[[int, list[Response]], None] | None,
) -> Run:
    """Send a request and return its run.

    Parameters
    ----------
    arrived
        Called while responses arrive with their number and the latest of them; None
        for a model with one response.

    Raises
    ------
    BlsnbError
        The request failed.
    """
    hidden: Any = {**options, "show": False}
    if arrived is None:
        return server.infer(name, inputs, **hidden)
    stream = server.stream(name, inputs, **hidden)
    latest: list[Response] = []
    due = time.monotonic()
    for count, response in enumerate(stream, 1):
        latest = [*latest[1 - _SHOWN_RESPONSES :], response]
        if time.monotonic() >= due:
            arrived(count, latest)
            due = time.monotonic() + _PAUSE_S
    return stream.run


def request_code(
    model_name: str,
    values: Mapping[str, Value],
    options: RequestOptions,
    *,
    server: str = "blsnb",
    streams: bool = False,
) -> str:
    """Return Python code that sends a request.

    Parameters
    ----------
    values
        The inputs by name.
    server
        Expression of the server.
    streams
        Whether the model is decoupled, so that responses are iterated over.
    """
    imports = {line for value in values.values() for line in value.imports}
    if server == "blsnb":
        imports.add("import blsnb")
    method = "stream" if streams else "infer"
    call = _call(f"{server}.{method}", model_name, values, options)
    code = f"for response in {call}:\n    print(response)" if streams else call
    return "\n".join([*sorted(imports), "", code]).lstrip("\n")


def _call(
    function: str, model_name: str, values: Mapping[str, Value], options: RequestOptions
) -> str:
    inputs = [f"{name!r}: {value.code}" for name, value in values.items()]
    named = [f"{name}={value!r}" for name, value in options.items()]
    braced = f"{{{', '.join(inputs)}}}"
    short = f"{function}({', '.join([repr(model_name), braced, *named])})"
    if len(short) <= _MAX_LINE:
        return short
    lines = ["    {", *[f"        {each}," for each in inputs], "    },"]
    lines += [f"    {each}," for each in named]
    return "\n".join([f"{function}(", f"    {model_name!r},", *lines, ")"])
