"""HttpThreads: the threads that answer requests over HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from blsnb.engine.threads.workers import Workers
from blsnb.serving.http.answer import HttpRequest

_MOST_REQUESTS = 512
"""Maximum number of threads for inference requests; one model gets half of them."""
_MOST_LOADS = 16
"""Maximum number of threads for loads and unloads; one model gets half of them."""
_MOST_QUERIES = 8
"""Maximum number of threads for everything else: none of it waits for a model."""
_OF_MODEL = re.compile(r"/v2/models/([^/]+)/.*?(infer|generate|generate_stream|ready)")
_LOAD = re.compile(r"/v2/repository/(?:.*/)?models/([^/]+)/(?:load|unload)")


class Threads(Protocol):
    """Where an exchange lets its answer be made."""

    def run(
        self, request: HttpRequest, work: Callable[[], None], *, continued: bool
    ) -> None:
        """Let a thread do a part of the work for a request.

        Raises
        ------
        OutOfResourcesError
            No thread can start.
        RuntimeError
            They were stopped.
        """


class HttpThreads:
    """Threads of the HTTP end point: no model, and no load, takes all of them.

    Raises
    ------
    OutOfResourcesError
        The thread that answers health checks cannot start.
    """

    def __init__(self) -> None:
        self._requests = Workers(_MOST_REQUESTS, "blsnb http request")
        self._loads = Workers(_MOST_LOADS, "blsnb http load")
        self._queries = Workers(_MOST_QUERIES, "blsnb http query", keep=1)
        self._queries.start()

    def run(
        self, request: HttpRequest, work: Callable[[], None], *, continued: bool
    ) -> None:
        """Let a thread do a part of the work for a request; see `Threads`."""
        if found := _OF_MODEL.fullmatch(request.path):
            # A model may have a hook that says whether it is ready.
            key = (found[1], found[2] == "ready")
            self._requests.submit_for(key, work, continued=continued)
        elif found := _LOAD.fullmatch(request.path):
            self._loads.submit_for(found[1], work)
        else:
            self._queries.submit(work)

    def close(self) -> None:
        """End the threads that have nothing to do; take no more work."""
        for pool in (self._requests, self._loads, self._queries):
            pool.shutdown(cancel_futures=True)


class OneThread:
    """The thread that answers everything.

    Parameters
    ----------
    name
        The thread's.

    Raises
    ------
    OutOfResourcesError
        It cannot start.
    """

    def __init__(self, name: str) -> None:
        self._pool = Workers(1, name, keep=1)
        self._pool.start()

    def run(
        self, request: HttpRequest, work: Callable[[], None], *, continued: bool
    ) -> None:
        """Let the thread do a part of the work for a request; see `Threads`."""
        self._pool.submit(work)

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown(cancel_futures=True)
