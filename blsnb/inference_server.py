"""An in-process Triton server for Python code."""

from __future__ import annotations

import warnings
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from blsnb.parts.requests import client_request
from blsnb.parts.server_parts import open_parts
from blsnb.parts.settings import ServerSettings
from blsnb.request_fields import RequestOptions, takes_request_options
from blsnb.results.response_stream import Stream
from blsnb.results.run import Run
from blsnb.trace.recorder import KEEP_CALLS

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from blsnb.benchmark.bench import Bench
    from blsnb.benchmark.measure import Progress
    from blsnb.dashboard.monitor import Monitor
    from blsnb.engine.loading.model_sources import ConfigOverride
    from blsnb.engine.metrics.batching import ModelBatching
    from blsnb.engine.model_log import ModelLog
    from blsnb.engine.scheduling.resource_admission import Counts
    from blsnb.errors import ModelLoadError
    from blsnb.evaluation.progress import Report
    from blsnb.evaluation.result.evaluation import Evaluation
    from blsnb.evaluation.result.metrics import Metric
    from blsnb.form.form import Form
    from blsnb.model.config import ModelConfig
    from blsnb.model_graph.graph import ModelGraph
    from blsnb.parity.cases import Cases
    from blsnb.parity.parity import Parity
    from blsnb.planning.calibration import Calibration
    from blsnb.planning.plans.plan import Plan
    from blsnb.planning.triton.recorded import Recorded
    from blsnb.repository.change import FileContent
    from blsnb.repository.export import Exported
    from blsnb.repository.repository import Roots
    from blsnb.repository.status import ModelStatus
    from blsnb.results.response import Response
    from blsnb.runtimes.runtime import Runtime
    from blsnb.serving.access import Access
    from blsnb.serving.endpoints import Endpoints


class Server:
    """A Triton server in this process: models, requests, traces.

    Use it as a context manager, or call `close`. A server that is garbage-collected
    while it is open warns with `ResourceWarning`: its models, threads and private
    folder then remain until the process ends. The default server of `blsnb.server`
    never warns: it is closed when the process ends.

    Methods refuse arguments of a wrong type with `TypeError`; those that run or change
    models raise `ServerClosedError` once the server is closed.

    Parameters
    ----------
    model_repository
        A folder of models on disk, or several. Models that are defined in Python have a
        private folder beside them. None for the private folder alone.
    startup_models
        Names of the models to load at the start, or ``"*"`` for all.
    model_control_mode
        ``"explicit"``: models are loaded and unloaded on request. ``"poll"``: the
        models of the repository serve, and it is scanned every ``repository_poll_s``
        seconds. ``"none"``: all models are loaded at the start.
    repository_poll_s
        Seconds between two scans in mode ``"poll"``.
    model_config_name
        Name of a custom configuration: where a model has ``configs/NAME.pbtxt``, it
        replaces ``config.pbtxt``.
    exit_on_error
        Whether a model that does not load at the start raises `ModelLoadError`.
        Otherwise the failure is logged.
    strict_model_config
        Whether every model needs a complete ``config.pbtxt``. Otherwise missing fields
        are completed, as on Triton.
    triton_release
        Release of Triton to follow, such as ``"24.10"``. None for the newest known one,
        `blsnb.TRITON_RELEASE`.
    trace_level
        ``"tensors"`` records calls with their tensors, ``"timestamps"`` calls without
        values, ``"off"`` nothing.
    trace_budget_bytes
        Maximum number of bytes of tensor values that the trace keeps, in the runs of
        `runs` that are not pinned by `Run.keep`; newest runs first. Calls that lost
        their values keep times, and the names, datatypes, shapes and sizes of their
        tensors.
    keep_calls
        Maximum number of calls kept one by one, in the same runs; newest runs first.
        The others are counted with their times, by caller and model. A call takes about
        half a kilobyte besides its values.
    keep_runs
        Maximum number of runs in `runs`, besides those that are pinned. A `Run` that
        you hold stays usable: what it has when it leaves `runs` remains until you drop
        it.
    hang_notice_s
        Seconds after which a long wait that may be legal is reported.
    log_verbose
        1 or more to show the lines that models log with ``Logger.log_verbose``.
    cache_bytes
        Size of the response cache in bytes, for models that enable it; 0 for no cache.
    rate_limit
        ``"execution_count"``: an instance executes only when the resources of its
        ``rate_limiter`` are free, in the order of priorities. ``"off"``: these settings
        of models are ignored.
    rate_limit_resources
        Number of units of each resource, such as ``{"R": 2}``, or by device, such as
        ``{"R": {0: 2, 1: 4}}``. None for as many as the most demanding instance needs.
    runtime
        ``"numpy"``: tensors are in host memory. ``"cupy"``: also on CUDA devices.
        ``"simulated"``: also on a device that is simulated in host memory, for tests.
        ``"auto"``: CuPy if a device responds. Or a runtime of your own.
    hostile_placement
        Seed for moving tensors between host and device at random wherever Triton may do
        so. ``runtime="auto"`` then simulates a device if necessary. None to leave
        tensors where they are.
    metrics_config
        Settings of the metrics page: ``summary_latencies`` adds summaries of latencies,
        ``summary_quantiles`` names their quantiles, such as ``"0.5:0.05,0.9:0.01"``,
        and ``counter_latencies`` set to False removes the counters of latencies.
    exit_timeout_s
        Maximum seconds for requests in flight to complete when the server is closed.
    otlp
        URL of an OpenTelemetry Collector that receives the spans of each run after its
        end, such as ``"http://127.0.0.1:4318"``; see `Run.export_otlp`. No request
        waits for it: what it does not take in time is dropped and counted in the log.
        None to send nothing; nothing is sent at ``trace_level="off"`` either.
    otlp_rate
        One in this many requests is sent to the Collector, and each one that came with
        a ``traceparent``; 0 for the latter only.
    otlp_count
        Maximum number of requests that are sent; those with a ``traceparent`` are sent
        beyond it, too. -1 for no limit, 0 to send none.

    Raises
    ------
    RepositoryError
        A folder is missing.
    ModelLoadError
        A model does not load at the start.
    TypeError
        An argument has the wrong type.
    ValueError
        An argument is out of range or unknown; ``startup_models`` is used without
        ``model_control_mode="explicit"``; no device responds for the runtime.
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
        otlp: str | None = None,
        otlp_rate: int = 1,
        otlp_count: int = -1,
    ) -> None:
        self._parts = open_parts(
            ServerSettings(
                model_repository=model_repository,
                startup_models=startup_models,
                model_control_mode=model_control_mode,
                repository_poll_s=repository_poll_s,
                model_config_name=model_config_name,
                exit_on_error=exit_on_error,
                strict_model_config=strict_model_config,
                triton_release=triton_release,
                trace_level=trace_level,
                trace_budget_bytes=trace_budget_bytes,
                keep_calls=keep_calls,
                keep_runs=keep_runs,
                hang_notice_s=hang_notice_s,
                log_verbose=log_verbose,
                cache_bytes=cache_bytes,
                rate_limit=rate_limit,
                rate_limit_resources=rate_limit_resources,
                runtime=runtime,
                hostile_placement=hostile_placement,
                metrics_config=metrics_config,
                exit_timeout_s=exit_timeout_s,
                otlp=otlp,
                otlp_rate=otlp_rate,
                otlp_count=otlp_count,
            )
        )

    def __del__(self) -> None:
        parts = getattr(self, "_parts", None)
        if parts is None or parts.lifetime.closed:
            return
        text = "unclosed blsnb.Server: call close(), or use it in a with statement"
        warnings.warn(text, ResourceWarning, 1, self)

    def __repr__(self) -> str:
        parts = self._parts
        return f"<Server: {'closed' if parts.lifetime.closed else parts.reports}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a server is neither pickled nor copied: it has threads, models in memory "
            "and a folder; make one with blsnb.Server() in each process"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finalize every model, stop every thread, remove the private folder.

        Requests in flight have ``exit_timeout_s`` seconds to end. In a forked child
        the server is closed already: models, threads, ports and folders are the
        parent's.
        """
        self._parts.lifetime.close()

    @property
    def closed(self) -> bool:
        """Whether the server was closed."""
        return self._parts.lifetime.closed

    @property
    def release(self) -> tuple[int, int]:
        """The release of Triton that the server follows, such as ``(24, 10)``."""
        return self._parts.engine.release

    @property
    def log(self) -> ModelLog:
        """The latest lines that models logged."""
        return self._parts.log

    @property
    def runs(self) -> list[Run]:
        """The recorded runs that the server keeps, oldest first; see ``keep_runs``."""
        parts = self._parts
        return [Run.of(record, parts.requests) for record in parts.recorder.runs]

    @takes_request_options
    def infer(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        *,
        profile: bool = False,
        **options: Unpack[RequestOptions],
    ) -> Run:
        """Run a request on a model, as Triton's gRPC client would.

        Parameters
        ----------
        model_name
            The model.
        inputs
            Values by input name. An array keeps its datatype; lists, numbers and
            strings are converted to the configured one. With ``max_batch_size`` above 0
            the first axis is the batch: shape ``[batch, *dims]``, otherwise ``dims``.
        profile
            Whether the models' Python code is sampled every millisecond: see
            ``run.profile``.
        **options
            Options of the request: see `RequestOptions`.

        Returns
        -------
        Run
            The response, and the trace of all calls. ``run["Y"]`` is a NumPy array of
            shape ``[batch, *dims]``, or ``dims`` if the model does not batch.

        Raises
        ------
        InferenceError
            The request failed: Triton's text and code, and the run so far.
        WouldHang
            Triton would never respond.
        InputError
            An argument or an input has a wrong type.
        """
        __tracebackhide__ = True
        request = client_request(model_name, inputs, options)
        return self._parts.requests.run(request, profile=profile)

    @takes_request_options
    async def async_infer(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        *,
        profile: bool = False,
        **options: Unpack[RequestOptions],
    ) -> Run:
        """Run a request without blocking the event loop.

        Cancelling the task cancels the request, as with Triton's gRPC client.

        Parameters
        ----------
        model_name, inputs, profile
            As `infer` takes them.
        **options
            Options of the request.

        Raises
        ------
        InferenceError, WouldHang, InputError
            As of `infer`.
        """
        request = client_request(model_name, inputs, options, "async_infer")
        return await self._parts.async_requests.run(request, profile)

    @takes_request_options
    def stream(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        *,
        profile: bool = False,
        **options: Unpack[RequestOptions],
    ) -> Stream:
        """Run a request and iterate over its responses.

        A decoupled model requires it; other models have one response.

        Parameters
        ----------
        model_name, inputs, profile
            As `infer` takes them.
        **options
            Options of the request.

        Returns
        -------
        Stream
            An iterator of `Response`, whose ``run`` is the run so far. Dropping it
            before its end cancels the request.

        Raises
        ------
        InferenceError, WouldHang, InputError
            As of `infer`.
        """
        __tracebackhide__ = True
        request = client_request(model_name, inputs, options, "stream")
        return self._parts.requests.stream(request, profile=profile)

    @takes_request_options
    def async_stream(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        *,
        profile: bool = False,
        **options: Unpack[RequestOptions],
    ) -> AsyncIterator[Response]:
        """Run a request whose responses ``async for`` iterates over.

        Leaving the loop early cancels the request.

        Parameters
        ----------
        model_name, inputs, profile
            As `infer` takes them.
        **options
            Options of the request.

        Raises
        ------
        InferenceError, WouldHang, InputError
            As of `infer`.
        """
        request = client_request(model_name, inputs, options, "async_stream")
        return self._parts.async_requests.stream(request, profile)

    def define(
        self,
        name: str,
        source: str | None,
        *,
        config: str | ModelConfig | None = None,
        version: int = 1,
        files: Mapping[str, FileContent] | None = None,
    ) -> ModelStatus:
        """Write a model into the private repository and load it.

        Parameters
        ----------
        name
            Name of the model.
        source
            Text of ``model.py``, unchanged; None for a model without one, such as an
            ensemble.
        config
            Text of ``config.pbtxt``, or a configuration. None keeps an existing file,
            or lets ``auto_complete_config`` fill in everything.
        version
            Version whose folder receives the source and the files.
        files
            Text, bytes or a `pathlib.Path` by path relative to the version's folder.

        Raises
        ------
        ModelLoadError
            The model does not load. Its folder is as before, and the version that
            served before still does.
        RepositoryError
            A name, a path or a version is invalid.
        """
        return self._parts.models.define(
            name, source, config=config, version=version, files=files
        )

    def load(
        self,
        name: str,
        *,
        config: ConfigOverride | None = None,
        files: Mapping[str, FileContent] | None = None,
    ) -> ModelStatus:
        """Load a model from its folder, or reload it if a file of the folder is newer.

        ``config`` and ``files`` are not written into the folder. They last until the
        model is unloaded, defined, or reloaded after a file of its folder changed.

        Parameters
        ----------
        name
            Name of the model.
        config
            Replaces ``config.pbtxt``: JSON text, a dict with the same keys, or a
            configuration.
        files
            Replace the whole folder and require ``config``: text, bytes or a
            `pathlib.Path` by ``"file:"`` and a path, such as ``"file:1/model.py"``.

        Raises
        ------
        ModelLoadError
            With the text of Triton's load call; the version that served before still
            does.
        RepositoryError
            A file cannot be read.
        """
        return self._parts.models.load(name, config=config, files=files)

    def unload(self, name: str, *, unload_dependents: bool = False) -> None:
        """Stop serving a model. A model that is not loaded is no error, as on Triton.

        Requests in flight are finished first.

        Parameters
        ----------
        name
            Name of the model.
        unload_dependents
            Whether models that were loaded only as steps of this ensemble are unloaded,
            too.

        Raises
        ------
        ModelLoadError
            The model control mode does not allow it; the text is Triton's.
        """
        self._parts.models.unload(name, unload_dependents=unload_dependents)

    def remove(self, name: str) -> None:
        """Unload a model and forget it, with its folder.

        Requests in flight are finished first. Only folders that the server itself wrote
        are removed: those of models that were defined in Python or in a cell.

        Parameters
        ----------
        name
            Name of the model.

        Raises
        ------
        RepositoryError
            There is no such model, or its folder is in a repository of yours.
        """
        self._parts.models.remove(name)

    def models(self) -> list[ModelStatus]:
        """Return the status of every model in the repository, sorted by name.

        A model that was removed is listed, as ``REMOVED``, while Ctrl-C has not ended
        it.
        """
        return self._parts.reports.statuses()

    def model(self, name: str) -> ModelStatus:
        """Return the status of a model: state, versions, inputs, outputs.

        Parameters
        ----------
        name
            Name of the model. The status of an unknown one has no versions.
        """
        return self._parts.reports.status(name)

    def index(self) -> list[dict[str, str]]:
        """Return Triton's repository index: a row for each version of each model.

        Returns
        -------
        list of dict
            Each with ``name``, and ``version``, ``state`` and ``reason`` where they
            apply.
        """
        return self._parts.reports.index()

    def graph(self) -> ModelGraph:
        """Return which model may call which, found without running any.

        Ensembles are read from configurations, BLS calls from the sources of Python
        models: names in literals, constants, f-strings, parameters of the configuration
        and arguments of helper functions. Targets that no source tells are marked.

        Returns
        -------
        ModelGraph
            Its ``findings`` are targets that no model has, inputs and outputs that do
            not fit the called model, circles that need more instances than there are,
            and models without callers. A notebook displays it as a drawing.
        """
        from blsnb.model_graph.server_graph import graph_of

        return graph_of(self._parts)

    def form(self, name: str) -> Form:
        """Return a form to try a model in a notebook, as ``%triton try`` shows it.

        Each input can be typed in, filled with random values, read from an uploaded
        picture, WAV file or NumPy file of at most 32 MB, or taken from a variable of
        the notebook. *Run* shows the run below the form; *Copy as code* makes a cell
        with the request. Display the form as the last value of a cell.

        Parameters
        ----------
        name
            Name of a ready model.

        Raises
        ------
        InferenceError
            The model is not ready; the text is Triton's.
        """
        from blsnb.form.form import Form

        return Form(self, name, self._parts.reports)

    def config(self, name: str, *, version: int = -1) -> dict[str, Any]:
        """Return the configuration of a ready model, in Triton's JSON form.

        Parameters
        ----------
        name, version
            The model; version -1 lets the server choose.

        Raises
        ------
        InferenceError
            The model is not ready; the text is Triton's.
        """
        return self._parts.reports.config(name, version=version)

    def config_text(self, name: str, *, version: int = -1) -> str:
        """Return the completed configuration of a ready model as ``config.pbtxt``.

        Parameters
        ----------
        name, version
            The model; version -1 lets the server choose.

        Raises
        ------
        InferenceError
            The model is not ready; the text is Triton's.
        """
        return self._parts.reports.config_text(name, version=version)

    def watch(self, name: str) -> None:
        """Reload a model whenever a file of its folder is saved.

        `unwatch`, `unload` and `close` end it. A reload that fails is logged, and the
        version that served before still does; the next save tries again.

        Parameters
        ----------
        name
            Name of the model.

        Raises
        ------
        InferenceError
            The model is not ready; the text is Triton's.
        """
        self._parts.folders.watch(name)

    def unwatch(self, name: str) -> None:
        """Stop watching a model, if it is watched.

        Parameters
        ----------
        name
            Name of the model.
        """
        self._parts.folders.unwatch(name)

    @property
    def watched(self) -> list[str]:
        """Names of the models that are watched, sorted."""
        return self._parts.changed_files.watched()

    def import_repository(
        self,
        path: str | Path,
        names: Sequence[str] | None = None,
        *,
        watch: bool = False,
    ) -> list[ModelStatus]:
        """Load the models of a repository on disk from where they are.

        The folder is read from now on, and written only by `export_repository` with
        ``in_place=True``. A model that does not load is no error: its status says why,
        and the others are loaded.

        Parameters
        ----------
        path
            The folder of models.
        names
            Names of the models to load; None for all.
        watch
            Whether to follow the folder: a file that was saved is in service before the
            next request, at the latest 100 ms after the one before. Models are loaded
            and unloaded with their folders. One that does not load is logged, and its
            former version still serves.

        Returns
        -------
        list of ModelStatus
            One for each model.

        Raises
        ------
        RepositoryError
            The folder is missing, or has no model of such a name.
        """
        return self._parts.folders.import_(path, names, watch=watch)

    def export_repository(
        self,
        path: str | Path | None = None,
        names: Sequence[str] | None = None,
        *,
        force: bool = False,
        in_place: bool = False,
        deploy: str | None = None,
    ) -> Exported:
        """Write models as a repository that Triton loads, byte for byte.

        A ``requirements.txt`` of their imports and a ``README.md`` with the commands
        that serve them are written beside them. Each model is written completely or not
        at all; one from an earlier export is replaced.

        Parameters
        ----------
        path
            The folder to write; it is made if it is missing. None with ``in_place``.
        names
            Names of the models; None for all.
        force
            Whether to overwrite files that no export wrote, or that changed since.
        in_place
            Whether to write only the files that were redefined here, into the imported
            folders that their models come from: all of them or none, with their line
            ends and modes, never through a link that leaves the repository.
        deploy
            Name of a container image, such as ``"registry.example/faces:1"``. A
            ``Dockerfile`` that builds it and a ``kserve.yaml`` that runs it on
            Kubernetes are written, too.

        Returns
        -------
        Exported
            The models, and notes on what differs on Triton; in place also the
            ``difference`` that was written.

        Raises
        ------
        RepositoryError
            A model is unknown or incomplete, a file is in the way, or a file cannot be
            read or written; in place also if a file changed in the folder since. The
            text then has both changes.
        ValueError
            ``path`` or ``deploy`` was passed together with ``in_place``, or ``deploy``
            is not the name of an image.
        """
        return self._parts.folders.export(
            path, names, force=force, in_place=in_place, deploy=deploy
        )

    def standin(
        self,
        name: str,
        *,
        zeros: bool = False,
        random: int | None = None,
        replay: Run | Sequence[Run] | None = None,
        call: Callable[[dict[str, Any]], Any] | None = None,
        remote: str | None = None,
    ) -> ModelStatus:
        """Replace a model, for example one whose backend is unavailable, by a stand-in.

        Requests are validated, queued and batched by the model's configuration. Cards
        and graphs mark the model, and an export leaves it out. The stand-in is replaced
        when the model is unloaded or defined. Pass exactly one of ``zeros``,
        ``random``, ``replay``, ``call`` and ``remote``.

        Parameters
        ----------
        name
            Name of the model.
        zeros
            Return zeros, False and empty strings. Variable axes have the sizes of an
            input of the same rank.
        random
            Return random numbers with this seed; equal requests get equal responses.
        replay
            Return the model's responses in one or several recorded runs, for requests
            with byte-identical inputs.
        call
            Return the result of a function, which receives a dict of arrays by input
            name and returns one by output name. With batching, arrays have shape
            ``[batch, *dims]``.
        remote
            Send the requests to the model of the same name on a Triton server, such as
            ``"grpc://localhost:8001"``.

        Raises
        ------
        ModelLoadError
            The configuration is invalid or incomplete; the version that served before
            still does.
        ValueError
            Not exactly one of these arguments was passed.
        """
        __tracebackhide__ = True
        return self._parts.stand_ins.load(
            name, zeros=zeros, random=random, replay=replay, call=call, remote=remote
        )

    def standing_in(
        self,
        name: str,
        *,
        zeros: bool = False,
        random: int | None = None,
        replay: Run | Sequence[Run] | None = None,
        call: Callable[[dict[str, Any]], Any] | None = None,
        remote: str | None = None,
    ) -> AbstractContextManager[ModelStatus]:
        """Replace a model by a stand-in during a ``with`` block.

        Afterwards the model of the folder, or an earlier stand-in, serves again, if one
        served before.

        Parameters
        ----------
        name
            Name of the model.
        zeros, random, replay, call, remote
            Exactly one of them, as `standin` takes them.

        Returns
        -------
        context manager
            Its value is the `ModelStatus` of the stand-in.

        Raises
        ------
        ModelLoadError
            The stand-in cannot be used, or the model does not load afterwards.
        ValueError
            Not exactly one of these arguments was passed.
        """
        return self._parts.stand_ins.loaded(
            name, zeros=zeros, random=random, replay=replay, call=call, remote=remote
        )

    @property
    def runtime(self) -> Runtime:
        """The runtime that makes tensors: NumPy's, or that of a device."""
        return self._parts.devices.runtime

    def use_runtime(self, runtime: str | Runtime) -> dict[str, ModelLoadError | None]:
        """Change the runtime and reload every ready model on it.

        A model that was loaded with ``config`` or ``files`` is not reloaded.

        Parameters
        ----------
        runtime
            As `Server` takes it.

        Returns
        -------
        dict
            The reloaded models by name: None, or the `ModelLoadError` of one that did
            not load. Its earlier version then still serves, on the earlier runtime.

        Raises
        ------
        ValueError
            The name is unknown, or no device responds; nothing has changed.
        """
        return self._parts.devices.use(runtime)

    def statistics(
        self, name: str | None = None, *, version: int = -1
    ) -> dict[str, Any]:
        """Return Triton's statistics of one model, or of all ready models.

        Parameters
        ----------
        name
            Name of the model; None for all.
        version
            Version of the model; -1 for all versions.

        Returns
        -------
        dict
            ``{"model_stats": [...]}`` with the fields of Triton's statistics extension;
            times are in nanoseconds, ``last_inference`` is in milliseconds since the
            epoch.

        Raises
        ------
        InferenceError
            The model is not ready; the text is Triton's.
        """
        return self._parts.measurements.statistics(name, version)

    def batching(self, name: str, *, version: int = -1) -> ModelBatching:
        """Return how the requests of a model were batched, and why some were not.

        The counts restart with every load, as those of `statistics` do.

        Parameters
        ----------
        name, version
            The model; version -1 lets the server choose.

        Returns
        -------
        ModelBatching
            Number of executions by batch size, and by the reason that ended a batch.

        Raises
        ------
        InferenceError
            The model is not ready; the text is Triton's.
        """
        return self._parts.measurements.batching(name, version)

    def metrics(self) -> str:
        """Return Triton's metrics page, in Prometheus' text format.

        It has ``nv_inference_*`` of every ready model, in microseconds, and the metrics
        of ``pb_utils.MetricFamily``.
        """
        return self._parts.engine.metrics_text()

    def monitor(self) -> Monitor:
        """Return the live view of this server: the same object until it is closed.

        In a notebook it is a widget, and ``str()`` returns a table. Rates are those of
        the last five seconds; p50 to p99 are those of each model's latest successful
        requests: at most 512, of the last minute.
        """
        return self._parts.measurements.monitor()

    @takes_request_options
    def bench(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        *,
        concurrency: int | Iterable[int] = (1, 2, 4, 8),
        rate: float | Iterable[float] | None = None,
        arrivals: str | Iterable[float] = "poisson",
        seed: int = 0,
        duration_s: float = 5.0,
        requests: int = 100_000,
        warm_up_requests: int = 1,
        trace_level: str | None = None,
        progress: Progress | None = None,
        **options: Unpack[RequestOptions],
    ) -> Bench:
        """Measure a model under load, in a closed or in an open loop.

        In a closed loop each level is a number of clients; each client sends the same
        request again as soon as it has the response. In an open loop each level is a
        rate: requests are sent at their times, whether or not others were answered,
        and latencies count from these times. The first tenth of such a level is not
        measured. After a rate that the server does not hold, higher ones are left out.

        A decoupled model is called by stream. Ctrl-C ends the measurement and returns
        the results so far.

        Parameters
        ----------
        model_name, inputs
            As `infer` takes them; the same for every request.
        concurrency
            The levels of a closed loop: one or more numbers of clients, 1 to 1024.
        rate
            The levels of an open loop, requests per second; None for a closed loop.
        arrivals
            When an open loop sends requests: ``"poisson"``, as many independent clients
            do, ``"constant"``, or the times of recorded requests in seconds, which are
            one level. At most 1024 requests are in flight.
        seed
            Seed of the random times of ``"poisson"``.
        duration_s
            Seconds that each level lasts.
        requests
            Maximum number of requests of each level.
        warm_up_requests
            Number of requests before the first level, which are not measured.
        trace_level
            Trace level of the requests, since recording costs time; None for the level
            of the server. The runs are not kept.
        progress
            Called with the completed share, from 0 to 1, and a text that names the
            level.
        **options
            Options of every request.

        Returns
        -------
        Bench
            A row for each level, with requests per second and latencies in
            microseconds. Failed requests are counted by text.

        Raises
        ------
        InferenceError
            The model is not ready, or refuses the request; the text is Triton's.
        InputError
            An argument or an input of the request has a wrong type.
        ValueError
            A number is out of range, or the trace level is unknown.
        """
        from blsnb.benchmark.measure import bench

        return bench(
            self._parts,
            client_request(model_name, inputs, options, "bench"),
            concurrency=concurrency,
            rate=rate,
            arrivals=arrivals,
            seed=seed,
            duration_s=duration_s,
            requests=requests,
            warm_up_requests=warm_up_requests,
            trace_level=trace_level,
            progress=progress,
        )

    @takes_request_options
    def plan(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        *,
        rate: float | Iterable[float],
        p99_ms: float,
        instances: Mapping[str, Sequence[int]] | None = None,
        delay_us: Mapping[str, Sequence[int]] | None = None,
        batch: Mapping[str, Sequence[int]] | None = None,
        cores: float | None = None,
        seed: int = 0,
        duration_s: float = 3.0,
        requests: int = 100,
        priorities: Mapping[int, float] | None = None,
        sequence_lengths: Sequence[int] = (),
        progress: Progress | None = None,
        target: str = "here",
        calibration: Calibration | None = None,
        recording: Recorded | None = None,
        computing: Mapping[str, float] | None = None,
        server_url: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> Plan:
        """Find the fewest instances that hold a load, by simulation.

        First the models are observed under light loads; then all configurations are
        simulated with random requests, those that seem to hold with more of them.
        Python code excludes other Python code in one kernel: on Triton, where each
        instance is a process, fewer instances may do.

        Parameters
        ----------
        model_name, inputs
            As `infer` takes them; the same for every request.
        rate
            Requests per second; of several rates a configuration must hold each.
        p99_ms
            Limit of the 99th percentile of the latency, in milliseconds.
        instances, delay_us, batch
            What is compared, by model: numbers of instances (on each of its GPUs, as
            ``count``), delays of the queue in microseconds, and maximum batch sizes,
            such as ``{"net": [1, 2, 4]}``. At most 2000 configurations.
        cores
            Number of processors; None for as many as this kernel was observed to use.
        seed
            Seed of the random requests.
        duration_s
            Maximum seconds of each observed load.
        requests
            Number of requests of the one client that is observed first.
        priorities
            Shares of requests by priority, such as ``{1: 0.2, 2: 0.8}``; None for
            that of the request.
        sequence_lengths
            Numbers of requests of sequences, equally frequent, such as ``[4, 8]``. The
            next request of a sequence is sent when the last one was answered; ``rate``
            counts requests.
        progress
            Called with the completed share, from 0 to 1, and the current step.
        target
            ``"here"`` observes the models in this process; ``"triton"`` on real Triton
            servers on this machine, which are started with them and stopped.
        calibration
            The ``calibration`` of an earlier plan of the same model and target, instead
            of observing the models again.
        recording
            With ``target="triton"``: a recording of a production server, from
            `blsnb.load_recording`, instead of starting servers.
        computing
            With ``recording``, which lacks it: the share of a model's own work that
            needs a processor, from 0 to 1, by model; 0 for others.
        server_url
            A running Triton server with the models, such as
            ``"grpc://localhost:8001"``: loads are sent to it, and its statistics read.
        **options
            Options of every request.

        Returns
        -------
        Plan
            The configurations, the best first, with latencies in microseconds; its
            text names the bottleneck and the errors of the calibration.

        Raises
        ------
        InferenceError
            The model is not ready, or a request failed.
        BlsnbError
            A model that the request reaches has a response cache or iterative
            sequences, which are not simulated yet.
        InputError
            An argument or an input of the request has a wrong type.
        ValueError
            A number is out of range, a model is not part of the request, or
            `sequence_lengths` of a model with sequences is missing.
        """
        from blsnb.planning.plans.planner import plan
        from blsnb.planning.triton.running_world import world_of

        request = client_request(model_name, inputs, options, "plan")
        world = world_of(
            self._parts,
            request,
            target,
            recording,
            computing,
            lambda folder: Server(model_repository=folder, startup_models="*"),
            server_url,
        )
        return plan(
            self._parts,
            request,
            world=world,
            calibration=calibration,
            rate=rate,
            p99_ms=p99_ms,
            instances=instances,
            delay_us=delay_us,
            batch=batch,
            cores=cores,
            seed=seed,
            duration_s=duration_s,
            requests=requests,
            priorities=priorities,
            sequence_lengths=sequence_lengths,
            progress=progress,
        )

    @takes_request_options
    def evaluate(
        self,
        model_name: str,
        rows: Any,
        *,
        metrics: Mapping[str, Metric] | None = None,
        lower_is_better: Collection[str] = (),
        against: str | int | None = None,
        sequence: str | None = None,
        batch: int = 1,
        keep: int = 20,
        workers: int | None = None,
        executor: Executor | None = None,
        server_url: str | None = None,
        resume: str | Path | None = None,
        progress: Report | None = None,
        **options: Unpack[RequestOptions],
    ) -> Evaluation:
        """Evaluate a model on a data set.

        Each row becomes a request. A row that fails keeps its error, and the others go
        on. The rows are read as they are executed. Ctrl-C ends the evaluation and
        returns the results so far.

        Parameters
        ----------
        model_name
            The evaluated model.
        rows
            The data set: an iterable of dicts such as ``{"IMAGE": array, "label": 3}``;
            a DataFrame of pandas or polars; an Arrow table; the path of a ``.parquet``
            or ``.npz`` file, of a run or of a recording; runs; or a pair of a folder
            and a function that loads a file.
            Keys that are no inputs, such as labels, reach only the metrics. Of a model
            with batches a row may lack the batch axis; then its outputs lack it, too.
        metrics
            Functions by name. Each receives the dict of a row and the outputs of its
            run, and returns a number. A decoupled model's output is a list with an
            item for each response. A metric that fails is missing for its row.
        lower_is_better
            Names of metrics whose high values are the worst ones, such as errors.
        against
            Name of another model, another version of this one, or the address of a
            server with the same model, such as ``"grpc://localhost:8001"``: it is
            evaluated on the same rows, and ``evaluation.comparison`` compares both. The
            rows are read twice.
        sequence
            Key that holds the correlation id of a row. Consecutive rows with the same
            id are one sequence; its start and end flags are set.
        batch
            Maximum number of rows stacked into one request, where their shapes are
            equal. If such a request fails, its rows are executed one by one.
        keep
            Maximum number of whole runs kept for each reason: of the first failures of
            each text, of the slowest rows, of the worst rows of each metric.
        workers
            Number of processes that execute rows; None for this thread. They have
            copies of the models that requests may reach. A killed process is replaced,
            and its rows run again; a row that ends two processes fails. With an
            executor it is the number of its processes, with a server the number of
            requests in flight.
        executor
            Executes rows instead: an executor of `concurrent.futures`, or Dask's
            ``client.get_executor()``. Its failure ends the evaluation.
        server_url
            A real Triton server that has the model and executes rows instead, such as
            ``"grpc://localhost:8001"``. No runs are recorded.
        resume
            File to which results are appended. An evaluation that was interrupted or
            killed continues from it: rows with a result are not executed again. It
            holds all outputs, but no whole runs. With ``against`` the earlier results
            are in a second file, whose name ends in ``.against``.
        progress
            Called ten times a second with the number of completed rows.
        **options
            Options of every request. Outputs named in ``outputs`` are kept for each
            row; without it, those of at most 1 KiB.

        Returns
        -------
        Evaluation
            A row for each row of the data set, with statistics, and whole runs of some.

        Raises
        ------
        InferenceError
            The model is not ready; the text is Triton's.
        InputError
            An option of the requests has a wrong type or is out of range.
        BlsnbError
            With ``workers`` or ``executor``: a model exists in this process only, such
            as a function as stand-in, or does not load in another process; the executor
            is broken.
        TritonServerError
            The server at ``server_url`` does not respond, or lacks the model.
        TypeError
            An argument has the wrong type, or ``rows`` is no data set.
        ValueError
            A number is out of range, no key of the first row is an input, a file has
            no rows, or the file of ``resume`` has results of other models or rows.
        """
        from blsnb.evaluation.evaluate import Demand, evaluate, evaluate_against
        from blsnb.evaluation.plain import EvaluationSettings
        from blsnb.evaluation.work.places import Place

        settings = EvaluationSettings(model_name, options, batch, keep)
        place = Place(workers, executor, server_url)
        demand = Demand(settings, metrics, lower_is_better, sequence, place, resume)
        if against is None:
            return evaluate(self._parts, demand, rows, progress=progress)
        return evaluate_against(self._parts, demand, rows, against, progress=progress)

    @takes_request_options
    def compare(
        self,
        model_name: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        target: str = "local",
        cases: Cases | None = None,
        atol: float = 0.0,
        rtol: float = 0.0,
        timeout_s: float = 60.0,
        install: bool = False,
        progress: Progress | None = None,
        **options: Unpack[RequestOptions],
    ) -> Parity:
        """Compare the responses of this server and a real Triton server.

        Values, datatypes, shapes, error codes and texts, the order of responses and
        their parameters are compared; latencies are reported. The models here keep
        their state between requests; those of a started server are new.

        Parameters
        ----------
        model_name, inputs
            As `infer` takes them; ``inputs`` may be None if there are ``cases``.
        target
            ``"local"`` starts a real server with an export of the models and stops it
            afterwards: a ``tritonserver`` on PATH, or that of an installed
            nvidia-pytriton. ``"grpc://host:port"`` is a running server that has the
            models.
        cases
            Further requests: a JSON file with a list of objects, or the objects. Each
            has ``inputs``, and may have a ``name`` and the options of `infer`. In a
            file a value is JSON, or ``{"npy": "path"}`` for a NumPy file beside it.
        atol, rtol
            Numbers agree if they differ by at most ``atol + rtol * |real value|``.
        timeout_s
            Maximum seconds until a real server is ready, and of each request.
        install
            Whether to install a real server, and packages that models import, from the
            package index into an environment of their own.
        progress
            Called with the completed share, from 0 to 1, and a text that names the next
            step.
        **options
            Options of all requests.

        Returns
        -------
        Parity
            ``agree``, the ``differences``, and both runs of each case.

        Raises
        ------
        InputError
            A request has an invalid form, or an input a wrong type.
        RepositoryError
            There is no such model, or a stand-in replaces a model that it calls.
        TritonServerError
            There is no real server, it does not become ready or cannot be reached, or
            the model does not load there; the text says why.
        ValueError
            The target is invalid.
        OSError
            A file of cases cannot be read.
        """
        from blsnb.parity.verification import compare

        return compare(
            self._parts,
            model_name,
            inputs,
            target=target,
            cases=cases,
            atol=atol,
            rtol=rtol,
            timeout_s=timeout_s,
            install=install,
            progress=progress,
            options=options,
        )

    def serve(
        self,
        *,
        http: int | None = 8000,
        grpc: int | None = 8001,
        metrics: int | None = 8002,
        host: str = "127.0.0.1",
        access: Access | None = None,
        unix_sockets: str | PathLike[str] | None = None,
    ) -> Endpoints:
        """Serve Triton's HTTP and gRPC interfaces.

        Triton's clients can use it like a real server.

        Parameters
        ----------
        http, grpc, metrics
            The ports; 0 for a free one, None to leave the interface out.
        host
            The address to listen on. If it is reachable from other machines, their
            users can run the models' code and load other models, and a warning says so.
        access
            What web pages and other clients may do; None for the defaults of
            `blsnb.serving.access.Access`.
        unix_sockets
            A folder for Unix sockets instead of ports; only this user may enter it.

        Returns
        -------
        Endpoints
            Closed with the server, or before it with `Endpoints.close`.

        Raises
        ------
        OSError
            A port is in use or not permitted; the text names it.
        ValueError
            A port is out of range.
        """
        from blsnb.serving.endpoints import serve

        return serve(
            self,
            http=http,
            grpc=grpc,
            metrics=metrics,
            host=host,
            access=access,
            unix_sockets=unix_sockets,
        )
