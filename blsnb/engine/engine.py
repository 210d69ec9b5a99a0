"""Engine: the models in service, and the requests that come to them from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from blsnb.engine.catalog import Catalog
from blsnb.engine.instance.placement import Placements
from blsnb.engine.metrics import server_metrics as own_metrics
from blsnb.engine.metrics.registry import MetricRegistry
from blsnb.engine.request.caller import Caller
from blsnb.engine.request.failure import note_lost
from blsnb.engine.request.lifetime import RootRequest, TooLate
from blsnb.engine.request.open_requests import Begun, Folders, Outside
from blsnb.engine.request.reader import TOO_LATE, Reader
from blsnb.engine.request.refusal import refusal
from blsnb.engine.request.streaming import Single
from blsnb.engine.request.validation import RequestError
from blsnb.engine.response_cache import ResponseCache
from blsnb.engine.routing import Routes
from blsnb.engine.scheduling.scheduler_choice import Schedulers
from blsnb.engine.served import Served
from blsnb.engine.settings import Settings
from blsnb.engine.threads.alarm import Alarm
from blsnb.engine.threads.workers import Workers
from blsnb.pb_utils.compiled.releases import has
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.runtimes.host import NumpyRuntime
from blsnb.tensors.memory import HOST
from blsnb.trace.recorder import Recorder, RunRecord

_MOST_STREAMS = 1024


class Answer(NamedTuple):
    """A response, or why the request failed; and the record of what happened."""

    response: ResponseMessage
    record: RunRecord
    advice: str = ""


class Engine:
    """Runs requests on the models that serve; the owner of their threads.

    Parameters
    ----------
    recorder
        Where everything that happens is recorded.
    settings
        What the server was told.
    folders
        Returns the folders in which the files of models are.
    """

    def __init__(
        self, recorder: Recorder, settings: Settings, folders: Folders
    ) -> None:
        self.recorder = recorder
        self.settings = settings
        self.release = release = settings.release
        self.bls_codes_kept = has("bls_error_codes", release)
        self.strict_model_config = settings.strict_model_config
        self.placements = settings.placements or Placements(NumpyRuntime())
        self.cache = (
            ResponseCache(settings.cache_bytes) if settings.cache_bytes else None
        )
        self.catalog = Catalog()
        self.metrics = MetricRegistry(own_metrics.NAMES)
        self._metrics = settings.metrics
        self._alarm = Alarm()
        self.workers = Workers(_MOST_STREAMS, "blsnb stream")
        self.schedulers = Schedulers(
            self._alarm, self.workers, settings.hang_notice_s, settings.rate_limits
        )
        self.outside = Outside(
            recorder, settings.hang_notice_s, folders, self.catalog.leave_behind
        )
        self.routes = routes = Routes(
            self.catalog,
            recorder,
            self.workers,
            self.bls_codes_kept,
            self.outside.end,
        )
        # The functions themselves: every BLS call goes this way.
        self.route = routes.route
        self.route_many = routes.route_many
        self._route_apart = routes.route_apart
        self.unready_text = routes.unready_text
        self.record_refusal = routes.record_refusal
        self.background_root = self.outside.open_background
        self.end_background = self.outside.end
        self.is_stopping = False
        """Whether requests on their way are finished, and others refused."""

    @property
    def is_closed(self) -> bool:
        """Whether nothing runs any more."""
        return self.outside.is_closed

    def serve(self, name: str, versions: Mapping[int, Served]) -> None:
        """Let versions of a model serve, and no others; those finish what they do."""
        if self._metrics.summary_latencies:
            for version in versions.values():
                version.statistics.summarise()
        for version in self.catalog.put(name, dict(versions)):
            version.retire()

    def withdraw(self, name: str) -> None:
        """Stop serving a model; requests in flight are finished first."""
        for version in self.catalog.remove(name):
            version.retire()

    def infer(
        self,
        message: RequestMessage,
        deadline_ns: int = 0,
        begun: Begun | None = None,
        record: RunRecord | None = None,
    ) -> Answer:
        """Run a request from outside: on this thread, if it has no deadline.

        Parameters
        ----------
        deadline_ns
            When its client leaves; the model goes on. 0 for never.
        begun
            Told of the request's life, so that another thread can cancel it.
        record
            Of its run; one that is kept if None.

        Raises
        ------
        WouldHang
            Triton would never answer.
        KeyboardInterrupt
            Ctrl-C ended the request.
        """
        __tracebackhide__ = True
        message.memory = HOST
        outside = self.outside
        root = outside.open(deadline_ns, record, begun)
        answer = None
        try:
            answer = outside.interruptibly(root, lambda: self._answer(message, root))
        finally:
            # What runs apart ends its record itself, perhaps later.
            if root.ended is not None or not deadline_ns:
                outside.close(root)
        assert answer is not None
        return answer

    def read(
        self,
        message: RequestMessage,
        deadline_ns: int = 0,
        record: RunRecord | None = None,
        begun: Begun | None = None,
    ) -> Reader:
        """Start a request that may have any number of responses; as `infer` else.

        Raises
        ------
        RequestError
            The request was refused; ``run_record`` is the record of the run.
        """
        __tracebackhide__ = True
        message.memory = HOST
        outside = self.outside
        root = outside.open(deadline_ns, record, begun)
        caller = Caller(root, None, None, 0, outside=True)
        try:
            self._check_accepting(message)
            responses = outside.interruptibly(
                root, lambda: self.route_many(message, caller), started=True
            )
        except BaseException as error:
            outside.close(root)
            error.run_record = root.record  # type: ignore[attr-defined]
            raise
        if isinstance(responses, Single):
            outside.close(root)
        return Reader(outside, root, responses)

    def _answer(self, message: RequestMessage, root: RootRequest) -> Answer:
        __tracebackhide__ = True
        try:
            self._check_accepting(message)
            response = self._respond(message, root)
        except RequestError as error:
            refused = ResponseMessage(error=error.message, code=error.code)
            return Answer(refused, root.record, error.advice)
        if response.error is not None and not response.final:
            # Sent before its flag, an error is lost on Triton's way to the client.
            note_lost(root.record.calls[:1], response.error)
            response = ResponseMessage()
        return Answer(response, root.record)

    def _respond(self, message: RequestMessage, root: RootRequest) -> ResponseMessage:
        __tracebackhide__ = True
        caller = Caller(root, None, None, 0, outside=True)
        if not root.deadline_ns:
            return self.route(message, caller)
        apart = self._route_apart(message, caller)
        try:
            response = apart.get(0, root.deadline_ns)
        except TooLate:
            root.cancel()
            apart.leave()
            text, code = TOO_LATE
            return ResponseMessage(error=text, code=code)
        assert response is not None
        return response

    def is_ready(self, name: str, version: str) -> bool:
        """Whether a model, or a version of it, can serve."""
        return self.catalog.is_ready(name, version)

    def metrics_text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        versions = [
            version
            for name in self.catalog.names()
            for _, version in sorted(self.catalog.versions(name).items())
        ]
        return self.metrics.exposition(own_metrics.own_metrics(versions, self._metrics))

    def _check_accepting(self, message: RequestMessage) -> None:
        if not self.is_stopping:
            return
        served = self.catalog.find(message.model_name, message.model_version)
        raise refusal(message, served.config.scheduling)

    def stop(self, timeout_s: float) -> None:
        """Refuse requests, and end those that are on their way.

        Parameters
        ----------
        timeout_s
            How long they may go on, all of them together.
        """
        self.is_stopping = True
        self.outside.roots.drain(timeout_s)
        self.outside.is_closed = True

    def close(self) -> None:
        """Stop every thread; no model serves any more."""
        self._alarm.close()
        self.workers.shutdown(cancel_futures=True)
