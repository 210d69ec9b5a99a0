"""Client requests: from Python values to a Run, or from messages to responses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from blsnb.engine.engine import Engine
from blsnb.engine.request.client_request import ClientRequest, deadline_ns, reachable
from blsnb.engine.request.failure import note_lost, notes_of
from blsnb.engine.request.inflight import Caller
from blsnb.engine.request.lifetime import RootRequest, TooLate, interruptible
from blsnb.engine.request.open_requests import Begun, stopping_refusal
from blsnb.engine.request.reader import TOO_LATE, Reader
from blsnb.engine.request.streaming import Readable, SingleResponse
from blsnb.engine.request.validation import RequestError
from blsnb.errors import InferenceError, ServerClosedError, TraceError
from blsnb.parts.lifetime import ServerLifetime
from blsnb.pb_utils.compiled.releases import has
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.response import Response
from blsnb.response_stream import Stream
from blsnb.run import Run
from blsnb.tensors.memory import HOST
from blsnb.trace.run_record import RunRecord


class Answer(NamedTuple):
    """The response to a client request, or its refusal."""

    response: ResponseMessage
    advice: str = ""


class ClientRequests:
    """Runs client requests on an engine, with the responses of Triton's gRPC endpoint.

    Parameters
    ----------
    engine
        The engine with the models.
    lifetime
        Lifetime of the server.
    """

    def __init__(self, engine: Engine, lifetime: ServerLifetime) -> None:
        self._engine = engine
        self._lifetime = lifetime
        self._router = engine.router
        self._open_requests = engine.open_requests
        self.before_request: Callable[[], None] | None = None
        """Called before each request while a folder is followed."""

    def run(
        self,
        request: ClientRequest,
        begun: Begun | None = None,
        record: RunRecord | None = None,
    ) -> Run:
        """Run a request on this thread.

        Parameters
        ----------
        begun
            Receives the request's lifetime, so that another thread can cancel it.
        record
            Record of the run; None creates one that the server keeps.

        Raises
        ------
        InferenceError
            The request failed.
        """
        __tracebackhide__ = True
        message = self.message(request)
        timeout_s = request.client_timeout_s
        deadline = 0 if timeout_s is None else deadline_ns(timeout_s)
        root = self._open_requests.open(deadline, record, begun)
        root.record.is_hidden = not request.show
        return self._run(message, root)

    def _run(self, message: RequestMessage, root: RootRequest) -> Run:
        __tracebackhide__ = True
        try:
            answer = self._answer(message, root)
        except InferenceError as error:
            # The run of a request that would hang shows what happened before.
            error.run = self._failed_run(message, root, error.message)
            raise
        response = answer.response
        if response.error is not None:
            run = self._failed_run(message, root, response.error)
            advice = answer.advice or "\n".join(notes_of(response.cause))
            raise InferenceError(
                response.error, response.code, run, advice
            ) from response.cause
        responses = functools.partial(_responses_of, response)
        return Run(message.model_name, root.record, responses, None, self)

    def answer(
        self,
        message: RequestMessage,
        begun: Begun | None = None,
        deadline_ns: int = 0,
    ) -> Answer:
        """Run a network client's request on this thread; a refusal is returned, too.

        Parameters
        ----------
        begun
            Receives the request's lifetime, so that another thread can cancel it.
        deadline_ns
            Monotonic time at which the client leaves; 0 for no deadline.

        Raises
        ------
        WouldHang
            Triton would never respond.
        """
        self._prepare()
        root = self._open_requests.open(deadline_ns, None, begun)
        root.record.of_client = True
        return self._answer(message, root)

    def _answer(self, message: RequestMessage, root: RootRequest) -> Answer:
        __tracebackhide__ = True
        message.memory = HOST
        caller = Caller(root, None, None, 0, is_client=True)
        response, advice = None, ""
        try:
            with interruptible(root, self._open_requests.folders):
                if self._open_requests.is_stopping:
                    self._refuse(message)
                if root.deadline_ns:
                    response = self._within_deadline(message, caller)
                else:
                    response = self._router.route(message, caller)
        except RequestError as error:
            response = ResponseMessage(error=error.message, code=error.code)
            advice = error.advice
        finally:
            # A request on a worker thread ends its record itself, perhaps later.
            if root.ended is not None or not root.deadline_ns:
                self._open_requests.close(root)
        if root.ended is not None:
            root.raise_ended()
        assert response is not None
        if response.error is not None and not (response.final or advice):
            # An error that was sent before the final flag never reaches Triton's
            # client.
            note_lost(root.record.calls[:1], response.error)
            response = ResponseMessage()
        return Answer(response, advice)

    def _within_deadline(
        self, message: RequestMessage, caller: Caller
    ) -> ResponseMessage:
        __tracebackhide__ = True
        root = caller.root
        deferred = self._router.defer(message, caller)
        try:
            response = deferred.get(0, root.deadline_ns)
        except TooLate:
            root.cancel()
            deferred.leave()
            text, code = TOO_LATE
            return ResponseMessage(error=text, code=code)
        assert response is not None
        return response

    def _refuse(self, message: RequestMessage) -> None:
        """Refuse a request to a server that is closing.

        Raises
        ------
        RequestError
            With Triton's text.
        """
        catalog = self._engine.catalog
        served = catalog.find(message.model_name, message.fields.version)
        raise stopping_refusal(message, served.config.scheduling)

    def read(
        self,
        message: RequestMessage,
        begun: Begun | None = None,
        deadline_ns: int = 0,
    ) -> Reader:
        """Start a network client's request, which may have any number of responses.

        Parameters
        ----------
        begun, deadline_ns
            As of `answer`.

        Raises
        ------
        RequestError
            The request was refused.
        WouldHang
            Triton would never respond.
        """
        self._prepare()
        root = self._open_requests.open(deadline_ns, None, begun)
        root.record.of_client = True
        return self._reader(message, root)

    def _reader(self, message: RequestMessage, root: RootRequest) -> Reader:
        __tracebackhide__ = True
        message.memory = HOST
        caller = Caller(root, None, None, 0, is_client=True)
        responses: Readable | None = None
        try:
            with interruptible(root, self._open_requests.folders):
                if self._open_requests.is_stopping:
                    self._refuse(message)
                responses = self._router.route_many(message, caller)
            root.raise_ended(has_response=responses is not None)
        except BaseException:
            self._open_requests.close(root)
            raise
        assert responses is not None
        if isinstance(responses, SingleResponse):
            self._open_requests.close(root)
        return Reader(self._open_requests, root, responses)

    def _prepare(self) -> None:
        """Refuse a request to a closed server; one that is stopping answers it.

        An open one first loads what was saved in followed folders.
        """
        requests = self._open_requests
        if self._lifetime.closed and (requests.is_closed or not requests.is_stopping):
            raise ServerClosedError
        if self.before_request is not None:
            self.before_request()

    def message(self, request: ClientRequest) -> RequestMessage:
        """Return a request as its model sees it, with frozen inputs.

        Raises
        ------
        InputError
            An input is of a type that Triton lacks.
        """
        __tracebackhide__ = True
        self._prepare()
        engine = self._engine
        config = engine.catalog.config(request.model_name, request.fields.version)
        message = request.message(config, engine.placements.runtime)
        if request.outputs and not has("unique_outputs", engine.release):
            message.requested_outputs = tuple(dict.fromkeys(request.outputs))
        return message

    def _failed_run(
        self, message: RequestMessage, root: RootRequest, error: str
    ) -> Run:
        return Run(message.model_name, root.record, [], error, self)

    def replay(
        self, message: RequestMessage, client_timeout_s: float | None = None
    ) -> Run:
        """Run a recorded request on the current model; a failed run is returned, too.

        Raises
        ------
        TraceError
            The inputs of the call were not recorded.
        """
        self._prepare()
        decoupled = self._check_recorded(message)
        message.inputs = reachable(message.inputs, self._engine.placements.runtime)
        root = self._open_requests.open(deadline_ns(client_timeout_s))
        try:
            if not decoupled:
                return self._run(message, root)
            stream = self._stream(message, root)
            for _ in stream:
                pass
            return stream.run
        except InferenceError as error:
            if not isinstance(error.run, Run):
                raise
            return error.run

    def _check_recorded(self, message: RequestMessage) -> bool:
        """Refuse a request without the inputs of its model; return whether decoupled.

        A model that does not serve refuses the request later, and the run says why.
        """
        catalog, name = self._engine.catalog, message.model_name
        config = catalog.config(name, message.fields.version)
        if config is None:
            return False
        if not message.inputs and not all(spec.optional for spec in config.inputs):
            raise TraceError(
                f"the inputs of this call of {name!r} were not recorded: at "
                "trace_level='tensors' they are"
            )
        return catalog.find(name, message.fields.version).decoupled

    def stream(self, request: ClientRequest, record: RunRecord | None = None) -> Stream:
        """Start a request that may have any number of responses.

        Parameters
        ----------
        record
            Record of the run; None creates one that the server keeps.

        Raises
        ------
        InferenceError
            The request was refused.
        """
        __tracebackhide__ = True
        message = self.message(request)
        deadline = deadline_ns(request.client_timeout_s)
        root = self._open_requests.open(deadline, record)
        root.record.is_hidden = not request.show
        return self._stream(message, root)

    def _stream(self, message: RequestMessage, root: RootRequest) -> Stream:
        __tracebackhide__ = True
        try:
            reader = self._reader(message, root)
        except (RequestError, InferenceError) as error:
            run = self._failed_run(message, root, error.message)
            if isinstance(error, InferenceError):
                error.run = run
                raise
            raise InferenceError(error.message, error.code, run, error.advice) from None
        return Stream(message.model_name, reader, self)


def _responses_of(final: ResponseMessage) -> list[Response]:
    return [Response(final.outputs, None, True, final.parameters)]
