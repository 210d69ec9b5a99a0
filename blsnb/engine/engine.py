"""Engine: the models in service, and the life of every request from outside."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container
from functools import partial
from typing import NamedTuple, TypeVar, cast

from blsnb.engine import own_metrics
from blsnb.engine.alarm import Alarm
from blsnb.engine.caller import Caller
from blsnb.engine.catalog import Catalog
from blsnb.engine.control import ModelControl
from blsnb.engine.ensemble_maker import EnsembleMaker
from blsnb.engine.failure import end_at_the_reader, note_lost
from blsnb.engine.load_lock import LoadLock
from blsnb.engine.loader import Loader
from blsnb.engine.loads import load_interruptibly, load_within
from blsnb.engine.metrics import MetricRegistry
from blsnb.engine.placement import Placements
from blsnb.engine.reader import TOO_LATE, Reader
from blsnb.engine.response_cache import ResponseCache
from blsnb.engine.root import RootRequest, TooLate, Unwind, interruptible
from blsnb.engine.roots import Roots
from blsnb.engine.routes import Routes
from blsnb.engine.schedulers import Schedulers
from blsnb.engine.settings import Settings
from blsnb.engine.stopping import refusal
from blsnb.engine.streaming import Single
from blsnb.engine.validation import RequestError
from blsnb.engine.workers import Workers
from blsnb.errors import ServerClosedError, WouldHang
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.pb_utils.releases import has
from blsnb.repository.directory import ModelDirectory
from blsnb.repository.repository import ModelRepository
from blsnb.runtimes.host import NumpyRuntime
from blsnb.tensors.memory import HOST
from blsnb.trace.recorder import Recorder, RunRecord

_MOST_STREAMS = 1024
_LOADING_S = 1.0
"""How long a server that is closed waits for a load that was told to end."""
T = TypeVar("T")
Begun = Callable[[RootRequest], None]
LogWriter = Callable[[str, str, str, str, int], None]


class Answer(NamedTuple):
    """A response, or why the request failed; and the record of what happened."""

    response: ResponseMessage
    record: RunRecord
    advice: str = ""


class Engine:
    """Loads models and runs requests; the owner of every thread.

    Parameters
    ----------
    recorder
        Where everything that happens is recorded.
    repository
        Where the models' folders are.
    settings
        What the server was told.
    log
        Takes model, level, text, file and line of a model's log.
    """

    def __init__(
        self,
        recorder: Recorder,
        repository: ModelRepository,
        settings: Settings,
        log: LogWriter,
    ) -> None:
        self.recorder = recorder
        self.log = log
        self.release = release = settings.release
        self.bls_codes_kept = has("bls_error_codes", release)
        self.strict_model_config = settings.strict_model_config
        self.placements = settings.placements or Placements(NumpyRuntime())
        self._hang_notice_s = settings.hang_notice_s
        self._metrics = settings.metrics
        self.catalog = Catalog()
        self.control = ModelControl(self, repository)
        self.metrics = MetricRegistry(own_metrics.NAMES)
        self.roots = Roots()
        self._workers = Workers(_MOST_STREAMS, "blsnb stream")
        self._alarm = Alarm()
        self.load_lock = LoadLock()
        routes = Routes(
            self.catalog, recorder, self._workers, self.bls_codes_kept, self._end
        )
        size = settings.cache_bytes
        cache = ResponseCache(size) if size else None
        self.loader = Loader(
            self,
            threading.Lock(),
            log,
            Schedulers(
                self._alarm,
                self._workers,
                settings.hang_notice_s,
                settings.rate_limits,
            ),
            EnsembleMaker(
                self.control.ensembles,
                self.catalog,
                routes,
                self._workers,
                cache,
                release,
                self.placements,
            ),
            cache,
        )
        # The functions themselves: every BLS call goes this way.
        self.route = routes.route
        self.route_many = routes.route_many
        self._route_apart = routes.route_apart
        self.unready_text = routes.unready_text
        self.is_closed = False
        self.is_stopping = False
        """Whether requests on their way are finished, and others refused."""

    def load(
        self,
        directory: ModelDirectory,
        root: RootRequest | None = None,
        unchanged: Container[int] = (),
    ) -> None:
        """Load a model, or load it anew; what serves goes on until the new one can.

        Parameters
        ----------
        root
            The request or the load of which it is part.
        unchanged
            Versions whose files are as they were: they stay, if they can.

        Raises
        ------
        ModelLoadError
            The new model cannot serve; what was loaded before still does.
        Unwind
            What it is part of has ended.
        """
        name = directory.name
        with self.load_lock.hold(name):
            if self.is_stopping:
                raise ServerClosedError
            before = self.catalog.versions(name)
            serving = {n: each for n, each in before.items() if n in unchanged}
            load = partial(self.loader.load, directory, serving)
            if root is None:
                versions = load_interruptibly(self, load, serving)
            else:
                versions = load_within(root, load, serving)
            if self._metrics.summary_latencies:
                for version in versions.values():
                    version.statistics.summarise()
            for version in self.catalog.put(name, dict(versions)):
                version.retire()

    def root_of_load(self) -> RootRequest:
        """Begin a load that is part of nothing else."""
        root = RootRequest(RunRecord(""), self._hang_notice_s)
        self.roots.add(root)
        return root

    def unload(self, name: str) -> None:
        """Stop serving a model; requests in flight are finished first."""
        with self.load_lock.hold(name):
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
        root = self.open(deadline_ns, record, begun)
        answer = None
        try:
            answer = self.interruptibly(root, lambda: self._answer(message, root))
        finally:
            # What runs apart ends its record itself, perhaps later.
            if root.ended is not None or not deadline_ns:
                self.close_root(root)
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
        root = self.open(deadline_ns, record, begun)
        caller = Caller(root, None, None, 0, outside=True)
        try:
            self._check_accepting(message)
            responses = self.interruptibly(
                root, lambda: self.route_many(message, caller), started=True
            )
        except BaseException as error:
            self.close_root(root)
            error.run_record = root.record  # type: ignore[attr-defined]
            raise
        if isinstance(responses, Single):
            self.close_root(root)
        return Reader(self, root, responses)

    def open(
        self, deadline_ns: int, record: RunRecord | None, begun: Begun | None = None
    ) -> RootRequest:
        """Begin a request from outside; as `infer`."""
        self._check_open()
        record = record or self.recorder.begin()
        root = RootRequest(record, self._hang_notice_s, deadline_ns)
        self.roots.add(root)
        if self.is_closed:
            # Since the look above: who closes may not have seen this request.
            self._end(root)
            self._check_open()
        if begun is not None:
            begun(root)
        return root

    def interruptibly(
        self, root: RootRequest, work: Callable[[], T], *, started: bool = False
    ) -> T:
        """Do work for a request from outside, until it is done or the request ends.

        Parameters
        ----------
        started
            Whether the work only starts the request: if another thread ends it at
            once, what it sent before can be read all the same.

        Raises
        ------
        WouldHang, KeyboardInterrupt
            Why the request ended.
        """
        __tracebackhide__ = True
        result: T | None = None
        try:
            with interruptible(root, self.control.folders):
                result = work()
        except Unwind:
            pass
        except KeyboardInterrupt as error:
            if not root.ended_by(error):
                raise
        stands = started and result is not None
        if root.ended is not None and not (
            stands and isinstance(root.ended, WouldHang)
        ):
            root.ended.run_record = root.record  # type: ignore[attr-defined]
            end_at_the_reader(root.ended)
            raise root.ended
        return cast("T", result)

    def close_root(self, root: RootRequest) -> None:
        """End the record of a request from outside; mark what it left open."""
        if root.ended is not None:
            root.close_calls()
            self._leave_behind(root)
        self._end(root)

    def _end(self, root: RootRequest) -> None:
        self.recorder.end(root.record)
        self.roots.discard(root)
        root.done.wake()

    def _leave_behind(self, root: RootRequest) -> None:
        """Let fresh instances take over from those that still run for a request."""
        for version in self.catalog.all_versions():
            version.leave_behind(root)

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

    def background_root(self) -> RootRequest:
        """Return a root for work that no request from outside asked for."""
        return RootRequest(self.recorder.begin(), self._hang_notice_s)

    def end_background(self, root: RootRequest) -> None:
        """End the record of such work."""
        self._end(root)

    def _check_open(self) -> None:
        if self.is_closed:
            raise ServerClosedError

    def _check_accepting(self, message: RequestMessage) -> None:
        if self.is_stopping:
            raise refusal(message, self.catalog)

    def close(self, timeout_s: float) -> None:
        """Refuse, drain, cancel, finalize, join: in that order, and safe to repeat.

        Parameters
        ----------
        timeout_s
            How long requests that are on their way may go on, all of them together.
        """
        self.is_stopping = True
        self.roots.drain(timeout_s)
        self.is_closed = True
        with self.load_lock.hold("", wait_s=_LOADING_S):
            for name in self.catalog.names():
                self.unload(name)
            self.control.close()
            self._alarm.close()
            self._workers.shutdown(cancel_futures=True)
