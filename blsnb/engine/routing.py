"""The way of each request to its model, and the record of the call."""

from __future__ import annotations

import functools
from collections.abc import Callable

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.catalog import Catalog
from blsnb.engine.decoupled import DecoupledRequests
from blsnb.engine.instance.slot import Retired
from blsnb.engine.refusals import NOT_READY, close_refused, decoupled_refusal
from blsnb.engine.request.deferred import DeferredResponse, start_on_worker
from blsnb.engine.request.inflight import Caller, Inflight
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.request.streaming import Readable, SingleResponse
from blsnb.engine.request.validation import RequestError, check_correlation_id
from blsnb.engine.served import Served
from blsnb.engine.threads.workers import Workers
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.trace.events import Call, CallFlag, ModelInfo
from blsnb.trace.lazy.call_fields import REQUEST_START
from blsnb.trace.recorder import Recorder


class Router:
    """Looks up models, runs requests on them, and records the calls.

    Parameters
    ----------
    catalog
        The models that serve.
    recorder
        Records the calls.
    workers
        Threads for decoupled and deferred requests.
    keeps_codes
        Whether a failed BLS call keeps the code of its target (25.04 and later).
    root_ended
        Called when a client request on a worker thread has ended.
    """

    def __init__(
        self,
        catalog: Catalog,
        recorder: Recorder,
        workers: Workers,
        keeps_codes: bool,
        root_ended: Callable[[RootRequest], None],
    ) -> None:
        self._catalog = catalog
        self._recorder = recorder
        self._workers = workers
        self.keeps_codes = keeps_codes
        self._root_ended = root_ended
        self._decoupled = DecoupledRequests(
            catalog, recorder, workers, keeps_codes, root_ended
        )

    def route(
        self, message: RequestMessage, caller: Caller, many: bool = False
    ) -> ResponseMessage:
        """Run a request on the model that it names.

        Parameters
        ----------
        many
            Whether the caller accepts any number of responses.

        Raises
        ------
        RequestError
            The request is refused before a model receives it.
        Unwind
            The whole client request has ended.
        """
        __tracebackhide__ = True
        while True:
            served = self._admit(message, caller)
            call = self._opened(served, message, caller)
            try:
                return self._run(served, call, message, caller, many)
            except Retired:
                # Replaced between look-up and execution: run it on the successor.
                continue

    def defer(self, message: RequestMessage, caller: Caller) -> DeferredResponse:
        """Start a client request on a worker thread, so that its client can leave.

        Raises
        ------
        RequestError
            The request is refused, or no thread can start.
        """
        try:
            served = self._admit(message, caller)
            return self._deferred(served, message, caller)
        except RequestError:
            self._root_ended(caller.root)
            raise

    def _deferred(
        self,
        served: Served,
        message: RequestMessage,
        caller: Caller,
        many: bool = False,
    ) -> DeferredResponse:
        # Before a thread is free: the client may leave while the request waits for it.
        call = self._opened(served, message, caller)
        deferred = DeferredResponse(caller.root)
        work = functools.partial(
            self._run_deferred, served, call, message, caller, deferred, many
        )
        try:
            start_on_worker(self._workers, message, caller, work)
        except RequestError as error:
            close_refused(self._recorder, call, message, caller, error)
            raise
        return deferred

    def _run_deferred(
        self,
        served: Served,
        call: Call,
        message: RequestMessage,
        caller: Caller,
        deferred: DeferredResponse,
        many: bool,
    ) -> None:
        response: ResponseMessage | RequestError
        try:
            try:
                response = self._run(served, call, message, caller, many)
            except Retired:
                response = self.route(message, caller, many)
        except Unwind:
            deferred.unwind()
            return
        except RequestError as error:
            response = error
        except Exception as error:
            response = ResponseMessage(error=repr(error), cause=error)
        self._root_ended(caller.root)
        deferred.answer(response)

    def route_many(self, message: RequestMessage, caller: Caller) -> Readable:
        """Start a request that may have any number of responses.

        Raises
        ------
        RequestError
            The request is refused before a model receives it.
        Unwind
            The whole request has ended.
        """
        served = self._admit(message, caller, many=True)
        if not served.decoupled:
            if caller.root.deadline_ns and caller.is_client:
                return self._deferred(served, message, caller, many=True)
            return SingleResponse(self.route(message, caller, many=True))
        call = self._opened(served, message, caller)
        return self._decoupled.start(served, call, message, caller)

    def check(self, message: RequestMessage) -> bool:
        """Refuse a request that its model would refuse.

        Returns
        -------
        bool
            Whether the model is decoupled.

        Raises
        ------
        RequestError
            With Triton's text.
        """
        served = self._catalog.find(message.model_name, message.fields.version)
        served.validator.check(message)
        return served.decoupled

    def _admit(
        self, message: RequestMessage, caller: Caller, many: bool = False
    ) -> Served:
        try:
            served = self._catalog.find(message.model_name, message.fields.version)
            if (
                served.has_ready_hook
                and not caller.is_client
                and served.not_ready_reason()
            ):
                name = message.model_name
                raise RequestError(NOT_READY.format(name), "UNAVAILABLE")
            if served.decoupled and not many:
                raise decoupled_refusal(message, caller)
            if message.fields.correlation_id:
                check_correlation_id(message.fields.correlation_id)
            served.validator.check(message)
        except RequestError as error:
            self.record_refusal(message, caller, error)
            raise
        return served

    def _opened(self, served: Served, message: RequestMessage, caller: Caller) -> Call:
        parent = None if caller.parent is None else caller.parent.call
        call = self._recorder.open(caller.root.record, served.info, parent)
        call.numbers[REQUEST_START] = CLOCK.now_ns()
        call.request_fields = message.fields
        call.requested_outputs = message.requested_outputs
        call.flags = caller.flags
        call.line = caller.line
        return call

    def _run(
        self,
        served: Served,
        call: Call,
        message: RequestMessage,
        caller: Caller,
        many: bool,
    ) -> ResponseMessage:
        __tracebackhide__ = True
        root = caller.root
        inflight = Inflight(message, root, call)
        execution, steps = caller.execution, caller.steps
        if execution is not None:
            execution.blocked_on = inflight
        if steps is not None:
            steps.begin(inflight)
        try:
            blocks = execution is not None or steps is not None
            if served.cache is None:
                response = served.run(inflight, blocks)
            else:
                response = served.run_cached(served.cache, inflight, blocks)
        except Retired:
            self._recorder.drop(root.record, call)
            raise
        except RequestError as error:
            close_refused(self._recorder, call, message, caller, error)
            raise
        except Unwind:
            root.close_calls()
            self._recorder.close(root.record, call, message.inputs, ())
            raise
        finally:
            if execution is not None:
                execution.blocked_on = None
            if steps is not None:
                steps.end(inflight)
        if response.followed and caller.is_client and steps is None and not many:
            # server: src/grpc/infer_handler.cc, InferResponseComplete
            response = ResponseMessage(error="expected a single response, got 2")
        if response.error is not None:
            call.flags |= CallFlag.ERROR
            call.error = response.error
            call.error_code = response.code
            if not caller.is_client:
                response.take_cause()
        if response.parameters:
            call.response_parameters = tuple(response.parameters.items())
        self._recorder.close(root.record, call, message.inputs, response.outputs)
        return response

    def record_refusal(
        self, message: RequestMessage, caller: Caller, error: RequestError
    ) -> None:
        """Record a refused request, although Triton does not trace it."""
        versions = self._catalog.versions(message.model_name)
        unknown = ModelInfo(message.model_name, -1, "", "", "model", "")
        info = next((version.info for version in versions.values()), unknown)
        parent = None if caller.parent is None else caller.parent.call
        call = self._recorder.open(caller.root.record, info, parent)
        close_refused(self._recorder, call, message, caller, error)
