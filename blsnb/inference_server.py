"""Server: joins repository, engine and trace; what a notebook does, without one."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from blsnb.engine.engine import Engine
from blsnb.engine.loading.changed_files import ChangedFiles
from blsnb.engine.loading.control import ModelControl
from blsnb.engine.loading.control_mode import ControlMode, parse_control_mode
from blsnb.engine.loading.override_folders import OverrideFolders
from blsnb.engine.loading.startup import load_startup_models
from blsnb.engine.metrics.config import parse_metrics_config
from blsnb.engine.model_log import ModelLog
from blsnb.engine.request.client_request import ClientRequest
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.reader import Reader
from blsnb.engine.scheduling.resource_admission import Counts, parse_rate_limit
from blsnb.engine.settings import Settings, check_numbers
from blsnb.files.owned import Creator
from blsnb.parity.compare import Comparing
from blsnb.parts.devices import Placing
from blsnb.parts.measurements import Measuring
from blsnb.parts.requests import Answer, ClientRequests
from blsnb.parts.stand_ins import StandingIn
from blsnb.pb_utils.message import RequestMessage
from blsnb.release import parse_release
from blsnb.repository.repository import ModelRepository, Roots
from blsnb.response import Response
from blsnb.response_stream import Stream
from blsnb.run import Run
from blsnb.runtimes.runtime import Runtime
from blsnb.trace.recorder import KEEP_CALLS, Recorder, RunRecord, parse_level


class Server(Comparing, Measuring, StandingIn, Placing):
    """A Triton server in this process: models, requests, traces.

    Parameters
    ----------
    model_repository
        A folder of models, several, or none; models defined in the notebook have
        a private folder beside them.
    startup_models
        Names of models to load at once, or ``"*"`` for all.
    model_control_mode
        ``"explicit"``: models are loaded and unloaded when asked for. ``"poll"``:
        what is in the repository serves; every ``repository_poll_s`` seconds it is
        looked at. ``"none"``: all models are loaded at the start.
    repository_poll_s
        Seconds between two looks in mode ``"poll"``.
    model_config_name
        Of the file in a model's ``configs`` that takes the place of its
        ``config.pbtxt``, if it is there.
    exit_on_error
        Whether a model that does not load at the start is an error; else it is
        logged.
    strict_model_config
        Whether every model needs a ``config.pbtxt``, which nothing completes.
    triton_release
        The release to agree with, such as ``"24.10"``; the newest known if None.
    trace_level
        ``"tensors"``, ``"timestamps"`` or ``"off"``.
    trace_budget_bytes
        Bytes of tensor values that the trace keeps, in all runs that are not pinned by
        `Run.keep`, newest runs first. Of a call without its values the times remain,
        and the names, types, shapes and sizes of its tensors.
    keep_calls
        Number of calls kept one by one, in all runs that are not pinned, newest runs
        first. The others are counted, with their times, by caller and model. A call
        takes about half a kilobyte besides its values.
    keep_runs
        Number of runs kept, besides those that are pinned.
    hang_notice_s
        Seconds after which a wait that may be legal is reported.
    log_verbose
        From 1 on, ``log_verbose`` lines of models are shown.
    cache_bytes
        Size of the response cache, for models that enable it; 0 for none.
    rate_limit
        ``"execution_count"``: an instance executes only when the resources that its
        ``rate_limiter`` names are free, and when it is its turn among all models.
        ``"off"``: such settings are ignored.
    rate_limit_resources
        How much there is of each resource, such as ``{"R": 2}``, or by device, as in
        ``{"R": {0: 2, 1: 4}}``; without any, as much as the most demanding instance
        needs.
    runtime
        ``"numpy"``: tensors are on the host. ``"cupy"``: also on CUDA devices.
        ``"simulated"``: on a device that is simulated in the host's memory, for tests.
        ``"auto"``: CuPy where a device answers. Or a runtime of one's own.
    hostile_placement
        A seed: tensors that may be on the host or on a device are moved at random, as
        Triton might. Without a device ``"auto"`` then takes a simulated one.
    metrics_config
        ``{"summary_latencies": True}``: the metrics page has summaries of latencies;
        also ``summary_quantiles``, such as ``"0.5:0.05,0.9:0.01"``, and
        ``counter_latencies``, which takes their counters away if it is false.
    exit_timeout_s
        Seconds that requests on their way have when the server is closed.

    Raises
    ------
    RepositoryError
        A folder is missing.
    ModelLoadError
        A model cannot be loaded at the start.
    ValueError
        A mode is none, or does not go with the startup models; a count is none; there
        is no such runtime, or no device for it.
    """

    def __init__(
        self,
        *,
        model_repository: Roots = None,
        startup_models: Sequence[str] | str = (),
        model_control_mode: str = "explicit",
        repository_poll_s: float = 15.0,
        model_config_name: str = "",
        exit_on_error: bool = True,
        strict_model_config: bool = False,
        triton_release: str | None = None,
        trace_level: str = "tensors",
        trace_budget_bytes: int = 256 << 20,
        keep_calls: int = KEEP_CALLS,
        keep_runs: int = 50,
        hang_notice_s: float = 10.0,
        log_verbose: int = 0,
        cache_bytes: int = 0,
        rate_limit: str = "off",
        rate_limit_resources: Counts | None = None,
        runtime: str | Runtime = "auto",
        hostile_placement: int | None = None,
        metrics_config: Mapping[str, bool | str] | None = None,
        exit_timeout_s: float = 30.0,
    ) -> None:
        check_numbers(trace_budget_bytes=trace_budget_bytes)
        check_numbers(keep_calls=keep_calls, keep_runs=keep_runs)
        check_numbers(hang_notice_s=hang_notice_s, exit_timeout_s=exit_timeout_s)
        check_numbers(cache_bytes=cache_bytes)
        named = _listed(startup_models)
        mode = parse_control_mode(model_control_mode, named)
        release = parse_release(triton_release)
        level = parse_level(trace_level)
        rate_limits = parse_rate_limit(rate_limit, rate_limit_resources or {})
        metrics = parse_metrics_config(metrics_config or {})
        placements = self._place(runtime, hostile_placement)
        self.recorder = Recorder(level, trace_budget_bytes, keep_runs, keep_calls)
        self.repository = ModelRepository(model_repository, model_config_name)
        self.log = ModelLog(log_verbose)
        overrides = OverrideFolders()
        self._engine = Engine(
            self.recorder,
            Settings(
                release,
                hang_notice_s,
                strict_model_config,
                cache_bytes,
                rate_limits,
                placements,
                metrics,
            ),
            lambda: (*self.repository.folders, *overrides.folders),
        )
        self._control = control = ModelControl(
            self._engine, self.repository, overrides, self.log.write
        )
        control.mode = mode
        self._requests = ClientRequests(self._engine)
        self._closed = False
        self._creator = Creator()
        self._closers: dict[Callable[[], None], None] = {}
        self.exit_timeout_s = exit_timeout_s
        self._monitor_lock = threading.Lock()
        self._changed_files = ChangedFiles(control, self.repository, self.log.write)
        try:
            load_startup_models(
                control,
                self.repository,
                named,
                exit_on_error=exit_on_error,
                log=self.log.write,
            )
            if mode is ControlMode.POLL:
                self._changed_files.poll(repository_poll_s)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def runs(self) -> list[RunRecord]:
        """The records of the runs that are kept, oldest first."""
        return self.recorder.runs

    def infer(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        *,
        outputs: Sequence[str] | None = None,
        version: int | None = None,
        parameters: Mapping[str, bool | int | float | str] | None = None,
        request_id: str = "",
        correlation_id: int | str = 0,
        sequence_start: bool = False,
        sequence_end: bool = False,
        priority: int = 0,
        timeout_us: int = 0,
        client_timeout_s: float | None = None,
    ) -> Run:
        """Run a request on a model, as Triton's gRPC client would.

        Parameters
        ----------
        inputs
            Name and value: an array in its own type, or a list, number or string
            that takes the configured type.
        outputs
            Names of the outputs wanted; all of them if None.
        timeout_us
            The request's own field, for schedulers.
        client_timeout_s
            The caller's deadline: it gets ``DEADLINE_EXCEEDED``, ``is_cancelled()``
            turns true in the model, and the model goes on, on a thread of its own.

        Raises
        ------
        InferenceError
            The request failed: text, code, and the run to look at.
        WouldHang
            Triton would never answer.
        InputError
            An input is of a type that Triton has not.
        """
        __tracebackhide__ = True
        request = ClientRequest(
            model_name,
            inputs,
            outputs=outputs,
            version=version,
            parameters=parameters,
            request_id=request_id,
            correlation_id=correlation_id,
            sequence_start=sequence_start,
            sequence_end=sequence_end,
            priority=priority,
            timeout_us=timeout_us,
            client_timeout_s=client_timeout_s,
        )
        self._check_asked()
        return self._requests.run(request)

    def ask_again(
        self, request: RequestMessage, client_timeout_s: float | None = None
    ) -> Run:
        """Make a recorded request again; what `Run.replay` does with a server.

        A failure is a run, too, and not raised.

        Raises
        ------
        TraceError
            Its inputs were not recorded.
        """
        self._check_asked()
        return self._requests.ask_again(request, client_timeout_s)

    def answer(
        self,
        message: RequestMessage,
        begun: Callable[[RootRequest], None] | None = None,
    ) -> Answer:
        """Run a request whose bytes are in Triton's form, on this thread.

        A refusal is an answer, too. What network clients send takes this way.

        Parameters
        ----------
        begun
            Told of the request's life, so that another thread can cancel it.

        Raises
        ------
        WouldHang
            Triton would never answer.
        """
        self._check_asked()
        return self._requests.answer(message, begun)

    def read(
        self,
        message: RequestMessage,
        begun: Callable[[RootRequest], None] | None = None,
    ) -> Reader:
        """Start such a request on any model; what it answers is read one by one.

        One of a model that is not decoupled runs on this thread.

        Raises
        ------
        InferenceError
            The request was refused.
        """
        self._check_asked()
        return self._requests.read(message, begun)

    async def async_infer(
        self, model_name: str, inputs: Mapping[str, Any], **options: Any
    ) -> Run:
        """Run a request without blocking the event loop; takes what `infer` takes.

        Raises
        ------
        InferenceError
            The request failed.
        """
        self._check_asked()
        return await self._requests.async_run(
            ClientRequest(model_name, inputs, **options)
        )

    def stream(
        self, model_name: str, inputs: Mapping[str, Any], **options: Any
    ) -> Stream:
        """Run a request and iterate over its responses; takes what `infer` takes.

        Any model can be asked so; a decoupled one must be.

        Raises
        ------
        InferenceError
            The request was refused.
        """
        __tracebackhide__ = True
        self._check_asked()
        return self._requests.stream(ClientRequest(model_name, inputs, **options))

    def async_stream(
        self, model_name: str, inputs: Mapping[str, Any], **options: Any
    ) -> AsyncIterator[Response]:
        """Run a request whose responses ``async for`` reads; takes what `infer` takes.

        Leaving the loop early cancels the request.

        Raises
        ------
        InferenceError
            The request was refused.
        """
        self._check_asked()
        request = ClientRequest(model_name, inputs, **options)
        return self._requests.async_stream(request)

    def at_close(self, close: Callable[[], None]) -> Callable[[], None]:
        """Call a function when the server is closed, before anything of it ends.

        Returns
        -------
        Callable
            Forgets it.
        """
        self._check_open()
        self._closers[close] = None
        return lambda: self._closers.pop(close, None)

    @property
    def closed(self) -> bool:
        """Whether the server was closed."""
        return self._closed

    def _check_asked(self) -> None:
        """Refuse a request to a server that is no more; one that stops answers."""
        if not self._engine.open_requests.is_stopping:
            self._check_open()

    def close(self) -> None:
        """Finalize every model, stop every thread, remove the private folder.

        Requests on their way have ``exit_timeout_s`` to end. In a forked child this
        only closes the child's copy: models, ports and folders are the parent's.
        """
        if self._closed:
            return
        self._closed = True
        if not self._creator.is_current_process:
            return
        while self._closers:
            self._closers.popitem()[0]()
        self._close_monitor()
        self._changed_files.close(self.exit_timeout_s)
        self._control.close(self.exit_timeout_s)
        self._requests.close()
        self.repository.close()


def _listed(names: Sequence[str] | str) -> Sequence[str]:
    return (names,) if isinstance(names, str) else tuple(names)
