"""Send the request of a form, and show its responses while they arrive."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from blsnb.request_fields import RequestOptions
from blsnb.response import Response
from blsnb.response_stream import Stream
from blsnb.run import Run

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
