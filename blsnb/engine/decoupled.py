"""Starts requests of decoupled models on worker threads, and records their ends."""

from __future__ import annotations

import functools
from collections.abc import Callable

from blsnb.engine.catalog import Catalog
from blsnb.engine.instance.slot import Retired
from blsnb.engine.refusals import close_refused, late_refusal
from blsnb.engine.request.deferred import start_on_worker
from blsnb.engine.request.inflight import Caller
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.streaming import StreamInflight
from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.engine.threads.workers import Workers
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.trace.events import Call, CallFlag
from blsnb.trace.recorder import Recorder


class DecoupledRequests:
    """Runs requests of decoupled models, and records their ends.

    Parameters
    ----------
    catalog, recorder, workers, keeps_codes, root_ended
        As of `Router`.
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
        self._keeps_codes = keeps_codes
        self._root_ended = root_ended

    def start(
        self, served: Served, call: Call, message: RequestMessage, caller: Caller
    ) -> StreamInflight:
        """Start a request; return what receives its responses.

        Raises
        ------
        RequestError
            No thread can start.
        """
        call.flags |= CallFlag.DECOUPLED
        self._recorder.log_responses(caller.root.record, call, message.inputs)
        inflight = StreamInflight(message, caller.root, call)
        if caller.execution is not None:
            # The caller's thread waits for the first response.
            caller.execution.blocked_on = inflight
        if caller.steps is not None:
            caller.steps.begin(inflight)
        work = functools.partial(self._stream, served, inflight, caller)
        try:
            start_on_worker(self._workers, message, caller, work)
        except RequestError as error:
            self._not_started(inflight, caller, error)
            raise
        return inflight

    def _not_started(
        self, inflight: StreamInflight, caller: Caller, error: RequestError
    ) -> None:
        """Close the call of a request for which no thread could start."""
        if caller.execution is not None:
            caller.execution.blocked_on = None
        if caller.steps is not None:
            caller.steps.end(inflight)
        call, message = inflight.call, inflight.message
        close_refused(self._recorder, call, message, caller, error)

    def _stream(self, served: Served, inflight: StreamInflight, caller: Caller) -> None:
        """Run a decoupled request on a worker's thread."""
        message = inflight.message
        try:
            while True:
                ended = functools.partial(self._stream_ended, served, inflight, caller)
                inflight.then(ended)
                try:
                    served.stream(inflight, caller.blocks)
                    break
                except Retired:
                    # Replaced between look-up and execution: use the successor.
                    served = self._catalog.find(
                        message.model_name, message.fields.version
                    )
                    served.validator.check(message)
        except RequestError as error:
            if caller.is_client:
                inflight.refusal = error
            inflight.abandon(late_refusal(message, caller, error, self._keeps_codes))
        except Exception as error:
            # No thread will send a response: the reader would wait forever.
            inflight.abandon(ResponseMessage(error=repr(error), cause=error))
            raise
        if inflight.lost:
            inflight.leave()
            if inflight.call.parent is None:
                self._root_ended(inflight.root)

    def _stream_ended(
        self, served: Served, inflight: StreamInflight, caller: Caller
    ) -> None:
        call = inflight.call
        served.ended(inflight)
        if caller.steps is not None:
            caller.steps.end(inflight)
        self._recorder.close(inflight.root.record, call, inflight.message.inputs, ())
        if call.parent is None:
            self._root_ended(inflight.root)
