"""Stream: the responses of one request from outside, as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

from blsnb.engine.engine import Engine
from blsnb.engine.root import RootRequest
from blsnb.engine.workers import Workers
from blsnb.errors import InferenceError
from blsnb.pb_utils.backend import Responses
from blsnb.pb_utils.message import ResponseMessage
from blsnb.run import Response, Run


class Stream(Iterator[Response]):
    """Iterates over the responses of a request; the model goes on meanwhile.

    A response with an error does not end a stream: Triton's client, too, is told of
    it and reads on. The final flag, when it is sent alone, is a last response
    without outputs.

    Parameters
    ----------
    model_name
        The model that was asked.
    engine, root
        What runs the request, and its life.
    responses
        Where they come from.
    """

    def __init__(
        self, model_name: str, engine: Engine, root: RootRequest, responses: Responses
    ) -> None:
        self._model_name = model_name
        self._engine = engine
        self._root = root
        self._responses = responses
        self._read: list[Response] = []
        self._error: str | None = None

    def __repr__(self) -> str:
        return f"<Stream of {self._model_name}: {len(self._read)} responses read>"

    @property
    def run(self) -> Run:
        """The run so far: what was read, and the trace."""
        return Run(self._model_name, self._root.record, self._read, self._error)

    def __next__(self) -> Response:
        """Return the next response, waiting for it.

        Raises
        ------
        StopIteration
            The last one was read.
        WouldHang
            Triton would never send another one.
        """
        __tracebackhide__ = True
        number = len(self._read)
        try:
            message = self._engine.interruptibly(
                self._root, lambda: self._responses.get(number), started=True
            )
        except BaseException as error:
            self._fail(error)
            raise
        if message is None:
            raise StopIteration
        response = _response(message)
        self._read.append(response)
        return response

    def _fail(self, error: BaseException) -> None:
        self._error = str(error)
        self._engine.close_root(self._root)
        if isinstance(error, InferenceError):
            error.run = self.run

    def cancel(self) -> None:
        """Say that no more are wanted: ``is_cancelled()`` turns true in the model."""
        self._root.cancel()


def _response(message: ResponseMessage) -> Response:
    return Response(message.outputs, message.error, message.final, message.parameters)


async def async_responses(stream: Stream, workers: Workers) -> AsyncIterator[Response]:
    """Iterate over a stream without blocking the event loop.

    Leaving the loop early, or cancelling it, cancels the request.
    """
    loop = asyncio.get_running_loop()
    ended = False
    try:
        while True:
            response = await loop.run_in_executor(workers, next, stream, None)
            if response is None:
                ended = True
                return
            yield response
    finally:
        if not ended:
            stream.cancel()
