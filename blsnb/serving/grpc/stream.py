"""One gRPC stream of a client, and the requests that it sends on it."""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import grpc

from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.validation import RequestError
from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError
from blsnb.serving.core.requests import Requests, ResponseReader
from blsnb.serving.core.wire import WireRequest
from blsnb.serving.grpc.gate import MalformedMessage
from blsnb.serving.grpc.responses import stream_error_of, stream_reply_of

_log = logging.getLogger("blsnb.serving")
Parsed = tuple[WireRequest, bool, bool]
"""A request, whether its final response is sent without outputs, too, and whether its
model is decoupled."""


class _Ordered:
    """The only reply to a request, which is sent after those of earlier requests."""

    __slots__ = ("message",)

    def __init__(self) -> None:
        self.message: Any = None


class _Running:
    """A request in flight, and the function that cancels it."""

    __slots__ = ("responses", "root")

    def __init__(self) -> None:
        self.root: RootRequest | None = None
        self.responses: ResponseReader | None = None

    def cancel(self) -> None:
        if self.root is not None:
            self.root.cancel()
        if self.responses is not None:
            self.responses.cancel()


class GrpcStream:
    """Runs the requests of a stream concurrently.

    They enter their models' queues in the order of their messages. The responses of
    models that are not decoupled are sent in that order, too; all others at once.

    Parameters
    ----------
    workers
        Each request uses one of these threads while it runs. If its model uses all of
        its share, no further message is read until a thread is free.

    References
    ----------
    server: src/grpc/stream_infer_handler.cc
    """

    def __init__(
        self, requests: Requests, parse: Callable[[Any], Parsed], workers: Workers
    ) -> None:
        self._requests = requests
        self._parse = parse
        self._workers = workers
        self._replies: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._ordered: deque[_Ordered] = deque()
        self._running: set[_Running] = set()
        self._open = 0
        """Number of requests in flight."""
        self._ending = False
        """Whether the stream ends once no request is in flight."""
        self._left = False
        self._queued = threading.Event()
        """Set once the last request is in its model's queue."""
        self._lock = threading.Lock()

    def replies(self) -> Iterator[Any]:
        """Yield replies until the client has sent all requests and got all replies."""
        while (reply := self._replies.get()) is not None:
            yield reply

    def leave(self) -> None:
        """Cancel all requests: the client has left."""
        with self._lock:
            self._left = True
            running = list(self._running)
        for each in running:
            each.cancel()
        self._queued.set()
        self._replies.put(None)

    def stop(self) -> None:
        """End once no request is in flight: the server stops, or all were sent."""
        with self._lock:
            self._ending = True
            over = not self._open
        if over:
            self._replies.put(None)

    def read(self, messages: Iterator[Any]) -> None:
        """Read the client's messages, on a thread of their own."""
        try:
            for message in messages:
                if self._left:
                    break
                if not isinstance(message, MalformedMessage):
                    self._start(message)
                elif message.refusal:
                    self._refuse("", RequestError(message.refusal))
                else:
                    break
        except grpc.RpcError:
            # The client has left; `leave` is called, too.
            pass
        except Exception:
            _log.exception("a stream over gRPC failed")
            self.leave()
        finally:
            self.stop()

    def _refuse(self, request_id: str, error: BaseException) -> None:
        self._send(self._next_ordered(), stream_error_of(request_id, error))

    def _start(self, message: Any) -> None:
        """Start a request, and wait until it is in its model's queue."""
        try:
            request, empty_final, decoupled = self._parse(message)
        except BaseException as error:
            self._refuse(message.id, error)
            return
        ordered = None if decoupled else self._next_ordered()
        self._queued = queued = threading.Event()
        with self._lock:
            self._open += 1
        work = partial(self._run, request, message.id, empty_final, ordered, queued)
        try:
            self._workers.submit_for(request.model_name, work)
        except OutOfResourcesError as error:
            self._send(ordered, stream_error_of(message.id, error))
            self._done()
            return
        if not self._left:
            queued.wait()

    def _run(
        self,
        request: WireRequest,
        whole_id: str,
        empty_final: bool,
        ordered: _Ordered | None,
        queued: threading.Event,
    ) -> None:
        left = self._left
        if left:
            self._done()
            return
        running = _Running()
        with self._lock:
            self._running.add(running)

        def begun(root: RootRequest) -> None:
            running.root = root
            root.on_arrival = queued.set
            if self._left:
                root.cancel()

        try:
            running.responses = self._requests.open(request, begun)
            queued.set()
            if self._left:
                running.cancel()
            while (response := running.responses.read()) is not None:
                if empty_final or not response.final_only:
                    self._send(ordered, stream_reply_of(response))
        except BaseException as error:
            # Unlike the model, the client has its id beyond a NUL.
            self._send(ordered, stream_error_of(whole_id, error))
        finally:
            queued.set()
            with self._lock:
                self._running.discard(running)
            self._done()

    def _next_ordered(self) -> _Ordered:
        ordered = _Ordered()
        with self._lock:
            self._ordered.append(ordered)
        return ordered

    def _send(self, ordered: _Ordered | None, reply: Any) -> None:
        """Send a reply, at once or after those of earlier requests."""
        if ordered is None:
            self._replies.put(reply)
            return
        with self._lock:
            ordered.message = reply
            while self._ordered and self._ordered[0].message is not None:
                self._replies.put(self._ordered.popleft().message)

    def _done(self) -> None:
        with self._lock:
            self._open -= 1
            over = self._ending and not self._open
        if over:
            self._replies.put(None)
