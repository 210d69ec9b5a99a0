"""The responses of a client request, one by one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from blsnb.engine.request.reader import Reader
from blsnb.engine.threads.workers import Workers
from blsnb.errors import InferenceError
from blsnb.printable import counted, printable
from blsnb.results.response import Response
from blsnb.results.run import Run
from blsnb.trace.responses import Ends

if TYPE_CHECKING:
    from blsnb.results.replay import Replayer

_KEEP = 1000
"""Maximum number of read responses that the run of a stream keeps."""
_KEEP_BYTES = 64 << 20
"""Maximum number of bytes of their outputs."""


class Stream(Iterator[Response]):
    """An iterator over the responses of a request, while the model continues.

    A response with an error does not end the stream, as with Triton's client. A final
    flag that is sent alone is a last response without outputs. Dropping the stream
    before its end cancels the request.

    Parameters
    ----------
    model_name
        The requested model.
    reader
        Receives the responses.
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
        name = printable(self._model_name)
        return f"<Stream of {name}: {counted(self._read.count, 'response')} read>"

    def __del__(self) -> None:
        reader = getattr(self, "_reader", None)
        if reader is not None:
            reader.cancel()

    @property
    def run(self) -> Run:
        """The run so far: the responses that were read, and the trace.

        It keeps the first and the latest responses: a thousand, of 64 MiB together.
        """
        record = self._reader.root.record
        read = self._read.items
        return Run(self._model_name, record, read, self._error, self._replayer)

    def __next__(self) -> Response:
        """Wait for the next response and return it.

        Raises
        ------
        StopIteration
            The last response was read.
        InferenceError
            The deadline has passed (``DEADLINE_EXCEEDED``), or the stream was
            cancelled (``CANCELLED``); unread responses are lost.
        WouldHang
            Triton would never send another response.
        """
        __tracebackhide__ = True
        try:
            message = self._reader.read()
        except InferenceError as error:
            self._error = error.message
            error.run = self.run
            raise
        except BaseException as error:
            self._error = str(error) or "interrupted"
            raise
        if message is None:
            raise StopIteration
        outputs = message.outputs
        response = Response(outputs, message.error, message.final, message.parameters)
        self._read.add(response, sum([ref.byte_size for ref in outputs]))
        return response

    def cancel(self) -> None:
        """Cancel the request: ``is_cancelled()`` returns True in the model.

        The model itself continues.

        References
        ----------
        tritonclient: stop_stream(cancel_requests=True)
        """
        self._reader.cancel()


async def async_responses(stream: Stream, workers: Workers) -> AsyncIterator[Response]:
    """Iterate over a stream without blocking the event loop.

    Leaving the loop early, or cancelling it, cancels the request.
    """
    ended = False
    try:
        while True:
            response = await workers.submit_async(lambda: next(stream, None))
            if response is None:
                ended = True
                return
            yield response
    finally:
        if not ended:
            stream.cancel()
