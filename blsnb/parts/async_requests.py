"""Client requests of coroutines: each waits on a thread, not on the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import AsyncIterator

from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.threads.workers import Workers
from blsnb.errors import ServerClosedError
from blsnb.parts.lifetime import ServerLifetime
from blsnb.parts.requests import ClientRequest, ClientRequests
from blsnb.results.response import Response
from blsnb.results.response_stream import async_responses
from blsnb.results.run import Run

_CALLERS = 32
"""Maximum number of `async_infer` requests in flight."""


class AsyncRequests:
    """Runs client requests on its own threads, not on the event loop's."""

    def __init__(self, requests: ClientRequests, lifetime: ServerLifetime) -> None:
        self._requests = requests
        self._lifetime = lifetime
        self._callers = Workers(_CALLERS, "blsnb async_infer", ServerClosedError)

    async def run(self, request: ClientRequest, profile: bool = False) -> Run:
        """Run a request, and cancel it with the task; see `ClientRequests.run`."""
        self._lifetime.check_process()
        context = contextvars.copy_context()
        begun: list[RootRequest] = []
        call = functools.partial(
            self._requests.run, request, begun.append, profile=profile
        )
        work = functools.partial(context.run, call)
        try:
            return await self._callers.submit_async(work)
        except asyncio.CancelledError:
            # As when a gRPC client cancels: the model may check for it, and continues.
            for root in begun:
                root.cancel()
            raise

    def stream(
        self, request: ClientRequest, profile: bool = False
    ) -> AsyncIterator[Response]:
        """Start a request with any number of responses; see `ClientRequests.stream`."""
        stream = self._requests.stream(request, profile=profile)
        return async_responses(stream, self._callers)

    def close(self) -> None:
        """Start no more requests."""
        self._callers.shutdown(cancel_futures=True)
