"""Inference: a request from outside, from Python values to a Run."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from blsnb.engine.engine import Answer, Engine
from blsnb.engine.request.client_request import OutsideRequest, RecordedRequest
from blsnb.engine.request.failure import notes_of
from blsnb.engine.request.freezing import freeze_on_device, reachable
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.reader import Reader
from blsnb.engine.request.validation import RequestError
from blsnb.engine.threads.workers import Workers
from blsnb.errors import InferenceError, ServerClosedError
from blsnb.parts.lifetime import ServerLifetime
from blsnb.pb_utils.message import RequestMessage
from blsnb.response import Response
from blsnb.response_stream import Stream, async_responses
from blsnb.run import Run
from blsnb.trace.recorder import RunRecord

_Begun = Callable[[RootRequest], None]
_CALLERS = 32


def _of_client(begun: _Begun | None) -> _Begun:
    """Return what notes on the record of a request who asked."""

    def note(root: RootRequest) -> None:
        root.record.of_client = True
        if begun is not None:
            begun(root)

    return note


class Inference:
    """Runs requests from outside on an engine; answers as Triton's gRPC client does.

    Parameters
    ----------
    engine
        Where the models are.
    lifetime
        Of the server.
    """

    def __init__(self, engine: Engine, lifetime: ServerLifetime) -> None:
        self._engine = engine
        self._lifetime = lifetime
        self._callers: Workers | None = None

    def run(
        self,
        request: OutsideRequest,
        begun: _Begun | None = None,
        record: RunRecord | None = None,
    ) -> Run:
        """Run a request on this thread.

        Parameters
        ----------
        begun
            Told of the request's life, so that another thread can cancel it.
        record
            What is recorded of it; one that the server keeps if None.

        Raises
        ------
        InferenceError
            The request failed.
        """
        __tracebackhide__ = True
        message = self._message(request)
        try:
            answer = self._engine.infer(message, request.deadline_ns, begun, record)
        except InferenceError as error:
            # Would hang: the run shows how far it got.
            record = error.__dict__.pop("run_record", None)
            if record is not None:
                error.run = self._failed_run(request, record, error.message)
            raise
        return self._finished(request, answer)

    def answer(self, message: RequestMessage, begun: _Begun | None = None) -> Answer:
        """Run a network client's request; a refusal is an answer, too.

        Parameters
        ----------
        begun
            Told of the request's life, so that another thread can cancel it.
        """
        self._check_open()
        return self._engine.infer(message, begun=_of_client(begun))

    def read(self, message: RequestMessage, begun: _Begun | None = None) -> Reader:
        """Start such a request, which may have any number of responses.

        Raises
        ------
        InferenceError
            The request was refused.
        """
        self._check_open()
        try:
            return self._engine.read(message, begun=_of_client(begun))
        except RequestError as error:
            raise InferenceError(
                error.message, error.code, advice=error.advice
            ) from None

    def _check_open(self) -> None:
        """Refuse a request to a closed server; one that is stopping answers it."""
        if not self._engine.is_stopping or self._engine.is_closed:
            self._lifetime.check_open()

    def _message(self, request: OutsideRequest) -> RequestMessage:
        __tracebackhide__ = True
        self._check_open()
        request.check()
        version = -1 if request.version is None else request.version
        config = self._engine.catalog.config(request.model_name, version)
        runtime = self._engine.placements.runtime
        given = freeze_on_device(request.inputs, runtime)
        if given is not request.inputs:
            request = replace(request, inputs=given)
        message = request.message(config)
        message.inputs = reachable(message.inputs, runtime)
        return message

    def _failed_run(
        self, request: OutsideRequest, record: RunRecord, error: str
    ) -> Run:
        return Run(request.model_name, record, [], error, self)

    def _finished(self, request: OutsideRequest, answer: Answer) -> Run:
        __tracebackhide__ = True
        response = answer.response
        if response.error is not None:
            run = self._failed_run(request, answer.record, response.error)
            advice = answer.advice or "\n".join(notes_of(response.cause))
            raise InferenceError(
                response.error, response.code, run, advice
            ) from response.cause
        final = Response(response.outputs, None, True, response.parameters)
        return Run(request.model_name, answer.record, [final], None, self)

    def replay(
        self, request: RequestMessage, client_timeout_s: float | None = None
    ) -> Run:
        """Make a recorded request on its model as it is now; a failure is a run, too.

        Raises
        ------
        TraceError
            Its inputs were not recorded.
        """
        name, version = request.model_name, request.model_version
        again = RecordedRequest(
            name,
            {},
            version=None if version < 0 else version,
            client_timeout_s=client_timeout_s,
            recorded=request,
        )
        try:
            if not self._is_decoupled(name, version):
                return self.run(again)
            stream = self.stream(again)
            for _ in stream:
                pass
            return stream.run
        except InferenceError as error:
            if not isinstance(error.run, Run):
                raise
            return error.run

    def _is_decoupled(self, name: str, version: int) -> bool:
        try:
            return self._engine.catalog.find(name, version).decoupled
        except RequestError:
            # It is refused, and the run says why.
            return False

    def stream(
        self, request: OutsideRequest, record: RunRecord | None = None
    ) -> Stream:
        """Start a request that may have any number of responses.

        Parameters
        ----------
        record
            What is recorded of it; one that the server keeps if None.

        Raises
        ------
        InferenceError
            The request was refused.
        """
        __tracebackhide__ = True
        message = self._message(request)
        try:
            reader = self._engine.read(message, request.deadline_ns, record)
        except (RequestError, InferenceError) as error:
            record = error.__dict__.pop("run_record")
            run = self._failed_run(request, record, error.message)
            if isinstance(error, InferenceError):
                error.run = run
                raise
            raise InferenceError(error.message, error.code, run, error.advice) from None
        return Stream(request.model_name, reader, self)

    def async_stream(self, request: OutsideRequest) -> AsyncIterator[Response]:
        """Start such a request, to be iterated over with ``async for``.

        Raises
        ------
        InferenceError
            The request was refused.
        """
        return async_responses(self.stream(request), self._workers())

    def _workers(self) -> Workers:
        if self._callers is None:
            self._callers = Workers(_CALLERS, "blsnb async_infer", ServerClosedError)
        return self._callers

    async def async_run(self, request: OutsideRequest) -> Run:
        """Run a request on a thread of its own, while the event loop goes on.

        Raises
        ------
        InferenceError
            The request failed.
        """
        context = contextvars.copy_context()
        begun: list[RootRequest] = []
        call = functools.partial(self.run, request, begun.append)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._workers(), context.run, call)
        except asyncio.CancelledError:
            # As when a gRPC client cancels: the model may ask, and goes on.
            for root in begun:
                root.cancel()
            raise

    def close(self) -> None:
        """Start no more requests."""
        if self._callers is not None:
            self._callers.shutdown(cancel_futures=True)
