"""Stream: the responses of one request from outside, as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

from blsnb.engine.request.reader import Reader
from blsnb.engine.threads.workers import Workers
from blsnb.errors import InferenceError
from blsnb.pb_utils.message import ResponseMessage
from blsnb.replay import Replayer
from blsnb.response import Response
from blsnb.run import Run
from blsnb.trace.responses import Ends

_KEEP = 1000
_KEEP_BYTES = 64 << 20


class Stream(Iterator[Response]):
    """Iterates over the responses of a request; the model goes on meanwhile.

    A response with an error does not end a stream: Triton's client, too, is told of
    it and reads on. The final flag, when it is sent alone, is a last response
    without outputs. Dropping the stream before its end cancels the request.

    Parameters
    ----------
    model_name
        The model that was asked.
    reader
        Gives what the model sends.
    replayer
        Executes recorded calls again.
    """

    def __init__(
        self, model_name: str, reader: Reader, replayer: Replayer | None = None
    ) -> None:
        self._model_name = model_name
        self._replayer = replayer
        self._reader = reader
        self._read: Ends[Response] = Ends(_KEEP, _KEEP_BYTES)
        self._error: str | None = None

    def __repr__(self) -> str:
        return f"<Stream of {self._model_name}: {self._read.count} responses read>"

    def __del__(self) -> None:
        reader = getattr(self, "_reader", None)
        if reader is not None:
            reader.cancel()

    @property
    def run(self) -> Run:
        """The run so far: what was read, and the trace.

        Of many responses the first and the latest are kept, a thousand at most.
        """
        record = self._reader.root.record
        read = self._read.items
        return Run(self._model_name, record, read, self._error, self._replayer)

    def __next__(self) -> Response:
        """Return the next response, waiting for it.

        Raises
        ------
        StopIteration
            The last one was read.
        InferenceError
            The deadline has passed (``DEADLINE_EXCEEDED``), or the stream was
            cancelled (``CANCELLED``); what was not read until then is lost.
        WouldHang
            Triton would never send another one.
        """
        __tracebackhide__ = True
        try:
            message = self._reader.read()
        except InferenceError as error:
            self._error = error.message
            error.run = self.run
            raise
        except BaseException as error:
            self._error = str(error)
            raise
        if message is None:
            raise StopIteration
        response = _response(message)
        self._read.add(response, sum([ref.byte_size for ref in message.outputs]))
        return response

    def cancel(self) -> None:
        """Read no more: ``is_cancelled()`` turns true in the model, which goes on.

        References
        ----------
        tritonclient: stop_stream(cancel_requests=True)
        """
        self._reader.cancel()


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
