"""A client: sends one request and measures it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from blsnb.benchmark.level import Level, Sample
from blsnb.engine.request.lifetime import RootRequest
from blsnb.errors import InferenceError
from blsnb.parts.requests import ClientRequest, ClientRequests
from blsnb.trace.run_record import RunRecord

_now = time.monotonic_ns


class Sender(Protocol):
    """Sends requests of a load, from any number of threads."""

    stream: bool
    """Whether a request has any number of responses."""

    def send(self, level: Level, number: int, began_ns: int = 0) -> None:
        """Send a request, and add its measurement to a level."""


@dataclass(eq=False)
class Client:
    """Sends one request again and again, from any number of threads.

    Parameters
    ----------
    requests
        The requests of the server.
    request
        The request.
    record
        Returns a new record for a request.
    stream
        Whether a request has any number of responses.
    """

    requests: ClientRequests
    request: ClientRequest
    record: Callable[[], RunRecord]
    stream: bool

    def next_request(self, number: int) -> ClientRequest:
        """Return the next request; ``number`` is that of `send`."""
        return self.request

    def ask(self) -> None:
        """Send the request once, unmeasured.

        Raises
        ------
        InferenceError
            It failed.
        """
        if not self.stream:
            self.requests.run(self.request, None, self.record())
            return
        for _ in self.requests.stream(self.request, self.record()):
            pass

    def send(self, level: Level, number: int, began_ns: int = 0) -> None:
        """Send the request, and add its measurement to a level.

        Parameters
        ----------
        number
            Identifies the request among those in flight.
        began_ns
            Intended time of the request; 0 for now.

        Raises
        ------
        BlsnbError
            The request could not be made: an input has a wrong type, or the server was
            closed.
        """
        send = self._streamed if self.stream else self._inferred
        level.add(number, send(level, number, began_ns or _now()))

    def _inferred(self, level: Level, number: int, began_ns: int) -> Sample:
        def begun(root: RootRequest) -> None:
            level.begun(number, lambda: _cancel(root))

        error = ""
        try:
            self.requests.run(self.next_request(number), begun, self.record())
        except InferenceError as failure:
            error = _text(failure)
        ended_ns = _now()
        return Sample(began_ns, ended_ns, ended_ns, 1, error)

    def _streamed(self, level: Level, number: int, began_ns: int) -> Sample:
        error = ""
        responses = first_ns = 0
        try:
            stream = self.requests.stream(self.next_request(number), self.record())
            level.begun(number, stream.cancel)
            for response in stream:
                first_ns = first_ns or _now()
                responses += bool(response.outputs)
                error = error or response.error or ""
        except InferenceError as failure:
            error = _text(failure)
        ended_ns = _now()
        return Sample(began_ns, first_ns or ended_ns, ended_ns, responses, error)


def _cancel(root: RootRequest) -> None:
    """End an abandoned request, wherever it waits."""
    root.cancel()
    root.end(InferenceError("the bench is over", "CANCELLED"))


def _text(failure: InferenceError) -> str:
    return f"[{failure.code}] {failure.message}"
