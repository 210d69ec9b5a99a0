"""GrpcStream: one stream of a client, with all requests that it sends on it."""

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
from blsnb.serving.core.requests import Answers, Requests
from blsnb.serving.grpc.gate import Malformed
from blsnb.serving.grpc.requests import GrpcRequest
from blsnb.serving.grpc.responses import refused, streamed

_log = logging.getLogger("blsnb.serving")
Parse = Callable[[Any], tuple[GrpcRequest, bool]]
"""Returns a request, and whether its model is decoupled."""


class _Turn:
    """The place of a request whose only response leaves in order."""

    __slots__ = ("message",)

    def __init__(self) -> None:
        self.message: Any = None


class _Asked:
    """A request that was not answered yet, and what cancels it."""

    __slots__ = ("answers", "root")

    def __init__(self) -> None:
        self.root: RootRequest | None = None
        self.answers: Answers | None = None

    def cancel(self) -> None:
        if self.root is not None:
            self.root.cancel()
        if self.answers is not None:
            self.answers.cancel()


class GrpcStream:
    """Runs the requests of a stream side by side.

    They enter their models' queues in the order in which they were sent. The responses
    of models that are not decoupled leave in that order, too; all others as they come.

    Parameters
    ----------
    requests
        Runs them.
    parse
        Reads a message.
    workers
        Each request has a thread of theirs while it runs. Where its model has all the
        threads that it may have, no further message is read before one is free.

    References
    ----------
    server: src/grpc/stream_infer_handler.cc
    """

    def __init__(self, requests: Requests, parse: Parse, workers: Workers) -> None:
        self._requests = requests
        self._parse = parse
        self._workers = workers
        self._replies: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._turns: deque[_Turn] = deque()
        self._asked: set[_Asked] = set()
        self._open = 1
        """The reading, and the requests that are not answered yet."""
        self._left = False
        self._stopping = False
        self._arrived = threading.Event()
        """Set once the request that was read last stands in its model's queue."""
        self._lock = threading.Lock()

    def replies(self) -> Iterator[Any]:
        """Yield what the client is sent, until it has sent all and got all."""
        while (reply := self._replies.get()) is not None:
            yield reply

    def leave(self) -> None:
        """Cancel what is on its way: the client has gone."""
        with self._lock:
            self._left = True
            asked = list(self._asked)
        for each in asked:
            each.cancel()
        self._arrived.set()
        self._replies.put(None)

    def stop(self) -> None:
        """End as soon as nothing is on its way: the server stops."""
        with self._lock:
            self._stopping = True
            idle = self._open == 1
        if idle:
            self._replies.put(None)

    def read(self, messages: Iterator[Any]) -> None:
        """Take the client's messages, on a thread of their own."""
        try:
            for message in messages:
                if self._left:
                    break
                if not isinstance(message, Malformed):
                    self._take(message)
                elif message.refusal:
                    self._refuse(message.refusal)
                else:
                    break
        except grpc.RpcError:
            # So gRPC says that the client has gone; `leave` is called, too.
            pass
        except Exception:
            _log.exception("a stream over gRPC failed")
            self.leave()
        finally:
            self._done()

    def _refuse(self, reason: str) -> None:
        turn = _Turn()
        self._enter(turn)
        self._answer(turn, refused("", RequestError(reason, "UNAVAILABLE")))

    def _take(self, message: Any) -> None:
        turn = _Turn()
        try:
            (request, empty_final), decoupled = self._parse(message)
        except Exception as error:
            self._enter(turn)
            self._answer(turn, refused(message.id, error))
            return
        if not decoupled:
            self._enter(turn)
        self._arrived = arrived = threading.Event()
        with self._lock:
            self._open += 1
        own_turn = None if decoupled else turn
        work = partial(self._run, request, empty_final, own_turn, arrived)
        try:
            self._workers.submit_for(request.model_name, work)
        except OutOfResourcesError as error:
            self._answer(own_turn, refused(request.fields.request_id, error))
            self._done()
            return
        if not self._left:
            arrived.wait()

    def _run(
        self,
        request: Any,
        empty_final: bool,
        turn: _Turn | None,
        arrived: threading.Event,
    ) -> None:
        left = self._left
        if left:
            self._done()
            return
        asked = _Asked()
        with self._lock:
            self._asked.add(asked)

        def begun(root: RootRequest) -> None:
            asked.root = root
            root.on_arrival = arrived.set
            if self._left:
                root.cancel()

        try:
            asked.answers = self._requests.open(request, begun)
            arrived.set()
            if self._left:
                asked.cancel()
            self._pass_on(asked.answers, empty_final, turn)
        except Exception as error:
            self._answer(turn, refused(request.fields.request_id, error))
        finally:
            arrived.set()
            with self._lock:
                self._asked.discard(asked)
            self._done()

    def _pass_on(self, answers: Answers, empty_final: bool, turn: _Turn | None) -> None:
        while (response := answers.read()) is not None:
            if empty_final or not response.bare:
                self._answer(turn, streamed(response))

    def _enter(self, turn: _Turn) -> None:
        with self._lock:
            self._turns.append(turn)

    def _answer(self, turn: _Turn | None, reply: Any) -> None:
        """Send a reply, at once or when its turn comes."""
        if turn is None:
            self._replies.put(reply)
            return
        with self._lock:
            turn.message = reply
            while self._turns and self._turns[0].message is not None:
                self._replies.put(self._turns.popleft().message)

    def _done(self) -> None:
        with self._lock:
            self._open -= 1
            over = self._open <= self._stopping
        if over:
            self._replies.put(None)
