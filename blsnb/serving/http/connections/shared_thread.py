"""The idle connections of a port, and the thread that serves their quick requests."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import selectors
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

_LINGER_S = 0.005
"""Seconds that the serving thread waits for the next request."""
_LONG_S = 0.005
"""Seconds of a request after which the port's thread waits for the others again."""
_QUICK_S = 0.001
"""Mean seconds of a request up to which a model counts as quick."""
_CLIPPED_S = 0.004
"""Maximum seconds that count of one request: a busy machine delays single ones."""
_WEIGHT = 1 / 16
"""Weight of the latest request in the mean of its model."""
_ALONE = 64
"""Successive requests of one connection after which it has its own thread again."""
_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 64.0
"""Seconds until a model that was not quick is measured again."""

Step = Callable[[], None]


@dataclass(slots=True)
class _Mean:
    """Recent durations of a model's requests."""

    mean_s: float = 0.0
    pause_s: float = _PAUSE_S
    slow_until_s: float = 0.0


class QuickModels:
    """Which models respond quickly.

    Any thread may use it: a duration that is lost between two threads does no harm.
    """

    def __init__(self) -> None:
        self._means: dict[str, _Mean] = {}

    def is_quick(self, model: str) -> bool:
        """Whether a model's requests are expected to take less than a millisecond."""
        mean = self._means.get(model)
        return mean is None or time.monotonic() >= mean.slow_until_s

    def note(self, model: str, took_s: float) -> None:
        """Note the duration of a request."""
        mean = self._means.get(model)
        if mean is None:
            mean = self._means.setdefault(model, _Mean())
        mean.mean_s += (min(took_s, _CLIPPED_S) - mean.mean_s) * _WEIGHT
        if mean.mean_s > _QUICK_S:
            mean.slow_until_s = time.monotonic() + mean.pause_s
            mean.pause_s = min(2 * mean.pause_s, _LONGEST_PAUSE_S)
            mean.mean_s = _QUICK_S
        elif took_s <= _QUICK_S:
            mean.pause_s = max(_PAUSE_S, mean.pause_s * (1 - _WEIGHT))


class SharingConnection(Hashable, Protocol):
    """A connection whose quick requests a shared thread serves."""

    def fileno(self) -> int:
        """Return the descriptor of the socket."""

    def receive(self) -> None:
        """Receive a request on the port's thread."""

    def respond_shared(self) -> Step | None:
        """Respond to a complete request; return what the port's thread does next."""

    def serve_shared(self) -> Step | None:
        """Receive a request and respond; return what the port's thread does next."""

    def serve_alone(self) -> None:
        """Respond to a complete request on a thread of its own."""

    def finish(self, step: Step | None) -> None:
        """Let the port's thread continue with the connection."""

    def note_long(self, took_s: float) -> None:
        """Note that the current request takes long."""


C = TypeVar("C", bound=SharingConnection)


class IdleConnections(Generic[C]):
    """Idle connections; one thread waits for their requests.

    That is the port's thread until a quick request arrives. The thread that responds to
    it then waits instead, and responds to the quick requests of all connections,
    without a switch of threads. The port's thread waits again if no request comes for
    some milliseconds, or if one takes that long.

    Methods are for the port's thread unless they say otherwise.

    Parameters
    ----------
    served
        Receives an idle connection, and when it was last served.
    responding
        Receives a connection that is no longer idle: its thread serves it alone.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        served: Callable[[C, float], None],
        responding: Callable[[C], None],
    ) -> None:
        self._loop = loop
        self._note_served, self._note_responding = served, responding
        self._selector = selectors.DefaultSelector()
        self.is_shared = False
        """Whether another thread waits; only the port's thread changes it."""
        self._lock = threading.Lock()
        # The lock guards what follows.
        self._term = 0
        """Counts the changes of the thread that waits."""
        self._current: C | None = None
        self._since_s = 0.0
        self._served: dict[C, float] = {}

    def add(self, connection: C) -> None:
        """Wait for the next request of a connection."""
        self._selector.register(connection, selectors.EVENT_READ, connection)

    def remove(self, connection: C) -> None:
        """Wait no longer for a connection, if it is idle."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(connection)

    def wait(self) -> None:
        """Wait for requests on the port's thread."""
        self._loop.add_reader(self._selector, self._receive)

    def _receive(self) -> None:
        for key, _ in self._selector.select(0):
            key.data.receive()
            if self.is_shared:
                return

    def share(self, first: C) -> Callable[[], None]:
        """Return the work of a thread that serves a request, and those that follow."""
        self._loop.remove_reader(self._selector)
        self.is_shared = True
        with self._lock:
            self._term += 1
            self._current, self._since_s = first, time.monotonic()
        self._loop.call_later(_LONG_S, self._check, self._term)
        return functools.partial(self._serve, self._term, first)

    def _check(self, term: int) -> None:
        """Wait on the port's thread again if a request takes long."""
        if not self.is_shared or term != self._term:
            return
        with self._lock:
            current = self._current
            took_s = time.monotonic() - self._since_s
        if current is None or took_s < _LONG_S:
            self._loop.call_later(_LONG_S, self._check, term)
            return
        current.note_long(took_s)
        self.retake()

    def retake(self) -> None:
        """Wait on the port's thread again; a request that is served continues."""
        if not self.is_shared:
            return
        self.is_shared = False
        with self._lock:
            self._term += 1
            current, self._current = self._current, None
            served, self._served = self._served, {}
        for connection, when_s in served.items():
            self._note_served(connection, when_s)
        if current is not None:
            self.remove(current)
            self._note_responding(current)
        self.wait()

    def _end(self, term: int) -> None:
        if term == self._term:
            self.retake()

    def close(self) -> None:
        """Wait no longer."""
        self.retake()
        self._loop.remove_reader(self._selector)
        self._selector.close()

    def _serve(self, term: int, first: C) -> None:
        """Serve requests, on a thread of its own, until none comes soon."""
        with self._lock:
            is_late = self._term != term
        if is_late:
            first.serve_alone()
            return
        try:
            self._serve_all(term, first)
        finally:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._end, term)

    def _serve_all(self, term: int, first: C) -> None:
        if not self._served_by(term, first, first.respond_shared()):
            return
        latest, repeated = first, 0
        while repeated < _ALONE and (ready := self._awaited()):
            for key, _ in ready:
                connection = key.data
                repeated = repeated + 1 if connection is latest else 0
                latest = connection
                if not self._begins(term, connection):
                    return
                if not self._served_by(term, connection, connection.serve_shared()):
                    return

    def _awaited(self) -> Sequence[tuple[selectors.SelectorKey, int]]:
        """Wait some milliseconds; return what can be received."""
        try:
            return self._selector.select(_LINGER_S)
        except (OSError, ValueError):
            # The port is closed.
            return ()

    def _begins(self, term: int, connection: C) -> bool:
        with self._lock:
            if self._term != term:
                return False
            self._current, self._since_s = connection, time.monotonic()
        return True

    def _served_by(self, term: int, connection: C, step: Step | None) -> bool:
        """Continue with a connection; return whether this thread still waits."""
        with self._lock:
            is_waiting = self._term == term
            if is_waiting:
                self._current = None
                # The connection that was served last comes last.
                self._served.pop(connection, None)
                if step is None:
                    self._served[connection] = self._since_s
                else:
                    self.remove(connection)
        if step is not None or not is_waiting:
            connection.finish(step)
        return is_waiting
