"""Server: an in-process Triton server, as a user of Python meets it."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from blsnb.engine.request.client_request import client_request
from blsnb.parts.server_parts import open_parts
from blsnb.parts.settings import ServerSettings
from blsnb.request_fields import RequestOptions, takes_request_options
from blsnb.response_stream import Stream
from blsnb.run import Run
from blsnb.trace.recorder import KEEP_CALLS

if TYPE_CHECKING:
    from blsnb.benchmark.bench import Bench
    from blsnb.benchmark.measure import Progress
    from blsnb.dashboard.monitor import Monitor
    from blsnb.engine.loading.model_sources import ConfigOverride
    from blsnb.engine.metrics.batching import ModelBatching
    from blsnb.engine.model_log import ModelLog
    from blsnb.engine.scheduling.resource_admission import Counts
    from blsnb.errors import ModelLoadError
    from blsnb.model.config import ModelConfig
    from blsnb.model.implied import Implied
    from blsnb.parity.cases import Cases
    from blsnb.parity.parity import Parity
    from blsnb.repository.change import FileContent
    from blsnb.repository.export import Exported
    from blsnb.repository.repository import Roots
    from blsnb.repository.status import ModelStatus
    from blsnb.response import Response
    from blsnb.runtimes.runtime import Runtime
    from blsnb.serving.endpoints import Endpoints


class Server:
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
            )
        )

    def __del__(self) -> None:
        parts = getattr(self, "_parts", None)
        if parts is None or parts.lifetime.closed:
            return
        if parts.lifetime.is_of_this_process:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, 1, self)

    def __repr__(self) -> str:
        parts = self._parts
        return f"<Server: {'closed' if parts.lifetime.closed else parts.models}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a server is neither pickled nor copied: it has threads, models in memory "
            "and a folder; make one with blsnb.Server() in each process"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finalize every model, stop every thread, remove the private folder.

        Requests in flight have ``exit_timeout_s`` to end. In a forked child this
        only closes the child's copy: models, ports and folders are the parent's.
        """
        self._parts.lifetime.close()

    @property
    def closed(self) -> bool:
        """Whether the server was closed."""
        return self._parts.lifetime.closed

    @property
    def release(self) -> tuple[int, int]:
        """Triton's release that the server agrees with, such as ``(24, 10)``."""
        return self._parts.engine.release

    @property
    def log(self) -> ModelLog:
        """The latest lines that models logged."""
        return self._parts.log

    @property
    def runs(self) -> list[Run]:
        """The runs that are kept, oldest first."""
        parts = self._parts
        return [Run.of(record, parts.requests) for record in parts.recorder.runs]

    @takes_request_options
    def infer(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        **options: Unpack[RequestOptions],
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
        request = client_request(model_name, inputs, options)
        return self._parts.requests.run(request)

    @takes_request_options
    async def async_infer(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        **options: Unpack[RequestOptions],
    ) -> Run:
        """Run a request without blocking the event loop; takes what `infer` takes.

        Raises
        ------
        InferenceError
            The request failed.
        """
        request = client_request(model_name, inputs, options)
        return await self._parts.requests.async_run(request)

    @takes_request_options
    def stream(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        **options: Unpack[RequestOptions],
    ) -> Stream:
        """Run a request and iterate over its responses; takes what `infer` takes.

        Any model can be asked so; a decoupled one must be.

        Raises
        ------
        InferenceError
            The request was refused.
        """
        __tracebackhide__ = True
        request = client_request(model_name, inputs, options)
        return self._parts.requests.stream(request)

    @takes_request_options
    def async_stream(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        **options: Unpack[RequestOptions],
    ) -> AsyncIterator[Response]:
        """Run a request whose responses ``async for`` reads; takes what `infer` takes.

        Leaving the loop early cancels the request.

        Raises
        ------
        InferenceError
            The request was refused.
        """
        request = client_request(model_name, inputs, options)
        return self._parts.requests.async_stream(request)

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
        source
            The text of ``model.py``, to the letter; None for an ensemble.
        config
            The text of ``config.pbtxt``, or a configuration; None leaves the one
            that is there, or lets ``auto_complete_config`` give it.
        files
            Path relative to the version's folder, and text, bytes or a file.

        Raises
        ------
        ModelLoadError
            The model does not load; its folder is as it was before, and what
            served before still does.
        RepositoryError
            A name or a path is none.
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
        """Load a model from its folder, or load it anew if a file of it is newer.

        An override is not written into the folder. It lasts until the model is
        unloaded, defined, or loaded again after a file of its folder was changed.

        Parameters
        ----------
        config
            Replaces ``config.pbtxt``: JSON text, a dict of the same, or a
            configuration.
        files
            Replace the folder, and need a ``config``: text, bytes or a file, by
            ``"file:1/model.py"`` and the like.

        Raises
        ------
        ModelLoadError
            With the text of Triton's load call.
        """
        return self._parts.models.load(name, config=config, files=files)

    def unload(self, name: str, *, unload_dependents: bool = False) -> None:
        """Stop serving a model; one that is not loaded is no error, as on Triton.

        Parameters
        ----------
        unload_dependents
            Whether models go, too, that were loaded only as parts of an ensemble.
        """
        self._parts.models.unload(name, unload_dependents=unload_dependents)

    def models(self) -> list[ModelStatus]:
        """Return the status of every model of the repository, sorted by name."""
        return self._parts.models.statuses()

    def model(self, name: str) -> ModelStatus:
        """Return the status of a model."""
        return self._parts.models.status(name)

    def index(self) -> list[dict[str, str]]:
        """Return Triton's repository index: a row for each version of each model."""
        return self._parts.models.index()

    def config(self, name: str, *, version: int = -1) -> dict[str, Any]:
        """Return the configuration of a model in service, in Triton's JSON form.

        Raises
        ------
        InferenceError
            It does not serve; the text is Triton's.
        """
        return self._parts.models.config(name, version=version)

    def config_text(self, name: str, *, version: int = -1) -> str:
        """Return the completed configuration as the text of a ``config.pbtxt``.

        Raises
        ------
        InferenceError
            The model does not serve.
        """
        return self._parts.models.config_text(name, version=version)

    def watch(self, name: str) -> None:
        """Load a model anew whenever a file of its folder is saved.

        It ends with `unwatch`, `unload` and `close`. A load that fails leaves what
        serves, and is logged; the next save tries again.

        Raises
        ------
        InferenceError
            The model does not serve; the text is Triton's.
        """
        self._parts.folders.watch(name)

    def unwatch(self, name: str) -> None:
        """Watch a model no more; one that was not watched is no error."""
        self._parts.folders.unwatch(name)

    @property
    def watched(self) -> list[str]:
        """Names of the models that are watched, sorted."""
        return self._parts.folders.watched

    def import_repository(
        self, path: str | Path, names: Sequence[str] | None = None
    ) -> list[ModelStatus]:
        """Load the models of a repository on disk, where they are.

        The folder is read from now on, and never written. A model that does not load
        is no error: its status says why, and the others are loaded all the same.

        Parameters
        ----------
        names
            Which models to load; all of the folder if None.

        Raises
        ------
        RepositoryError
            The folder is none, or has no model of such a name.
        """
        return self._parts.folders.import_(path, names)

    def export_repository(
        self,
        path: str | Path,
        names: Sequence[str] | None = None,
        *,
        force: bool = False,
    ) -> Exported:
        """Write models as a repository that Triton loads, byte for byte.

        Beside them are a ``requirements.txt`` of what they import, and a
        ``README.md`` with the commands that serve them. Each model is written whole
        or stays as it was; one from an earlier export is replaced.

        Parameters
        ----------
        names
            Which models; all of them if None.
        force
            Whether files may be overwritten that no export wrote, or that were
            changed since.

        Returns
        -------
        Exported
            The models, and notes on what is different there.

        Raises
        ------
        RepositoryError
            A model is unknown or not complete, such a file is in the way, or a file
            cannot be read or written.
        """
        return self._parts.folders.export(path, names, force=force)

    def implied_config(self, name: str, *runs: Run) -> Implied:
        """Return a configuration that fits the tensors of a model in recorded runs.

        An axis whose size differed between calls is -1; with a ``max_batch_size``
        the first axis is the batch. What was not seen stays as it is configured.

        Parameters
        ----------
        runs
            Which; the newest one with a call of the model if there is none.

        Raises
        ------
        ModelConfigError
            No configuration fits, or no tensor was seen.
        RepositoryError
            There is no such model.
        """
        return self._parts.folders.implied_config(name, runs)

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
        """Let a stand-in answer for a model whose backend is not here.

        The model's configuration counts as it does for the model: requests are
        checked, queued and batched. Cards and graphs mark it, and an export leaves it
        out. It answers until the model is unloaded or defined.

        Parameters
        ----------
        zeros
            With zeros, false and empty texts. What varies in a shape is as in an input
            of the same rank.
        random
            With numbers by chance, from this seed; equal requests get equal answers.
        replay
            As the model did in a recorded run, or in several, where a request had the
            same inputs to the byte.
        call
            With what a function returns: it gets a dict of arrays by input, and gives
            one by output.
        remote
            As the model of this name on a Triton server, such as
            ``"grpc://localhost:8001"``.

        Raises
        ------
        ModelLoadError
            The configuration is wrong, or does not say enough; what served before
            still does.
        ValueError
            Not one way to answer was given, but none or several.
        """
        return self._parts.stand_ins.load(
            name, zeros=zeros, random=random, replay=replay, call=call, remote=remote
        )

    def standing_in(self, name: str, **how: Any) -> AbstractContextManager[ModelStatus]:
        """Let a stand-in answer while a block runs; takes what `standin` takes.

        After it the model of the folder serves as before, or what stood in for it;
        nothing does, if nothing did.

        Raises
        ------
        ModelLoadError
            The stand-in cannot answer; or the model does not load afterwards.
        ValueError
            Not one way to answer was given, but none or several.
        """
        return self._parts.stand_ins.loaded(name, **how)

    @property
    def runtime(self) -> Runtime:
        """What tensors are made of: NumPy's arrays, or a device's."""
        return self._parts.devices.runtime

    def use_runtime(self, runtime: str | Runtime) -> dict[str, ModelLoadError | None]:
        """Take another runtime, and load every model that serves anew on it.

        A model that was loaded with a configuration of its own stays as it is.

        Returns
        -------
        dict
            The models, each with the error if it did not load; then what served
            before still does, on the runtime that it had.

        Raises
        ------
        ValueError
            There is no such runtime, or no device answers; nothing has changed.
        """
        return self._parts.devices.use(runtime)

    def statistics(
        self, name: str | None = None, *, version: int = -1
    ) -> dict[str, Any]:
        """Return Triton's statistics of one model, or of all that serve.

        Raises
        ------
        InferenceError
            The model does not serve; the text is Triton's.
        """
        return self._parts.measurements.statistics(name, version)

    def batching(self, name: str, *, version: int = -1) -> ModelBatching:
        """Return how a model's requests were batched, and why not together.

        The counts restart with every load, as those of `statistics` do.

        Parameters
        ----------
        version
            The newest that serves if -1.

        Raises
        ------
        InferenceError
            The model does not serve; the text is Triton's.
        """
        return self._parts.measurements.batching(name, version)

    def metrics(self) -> str:
        """Return Triton's metrics page: Prometheus' text format.

        It has ``nv_inference_*`` of every model that serves, and what models count
        themselves with ``pb_utils.MetricFamily``.
        """
        return self._parts.measurements.metrics()

    def monitor(self) -> Monitor:
        """Return what shows this server live, the same until it is closed.

        As the value of a cell it is a widget, as ``str()`` a table. Rates are those
        of the last five seconds; p50 to p99 are those of the latest requests of
        each model that succeeded, 512 at most and none from before the last minute.
        """
        return self._parts.measurements.monitor()

    @takes_request_options
    def bench(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        *,
        concurrency: Iterable[int] = (1, 2, 4, 8),
        duration_s: float = 5.0,
        requests: int = 100_000,
        warm_up_requests: int = 1,
        trace_level: str | None = None,
        progress: Progress | None = None,
        **options: Unpack[RequestOptions],
    ) -> Bench:
        """Measure a model under load, in a closed loop.

        At each level so many clients ask, each anew as soon as it was answered: a
        decoupled model by stream. Ctrl-C ends it with what was measured so far.

        Parameters
        ----------
        inputs
            Of every request, as for `infer`.
        concurrency
            The levels: numbers of clients.
        duration_s
            Seconds that clients ask at each level.
        requests
            How many requests there are at each level at most.
        warm_up_requests
            How many are made before the first level, and not measured.
        trace_level
            How much is recorded of each request, as it costs time; the server's own
            if None. The runs are not kept.
        progress
            Told the share that is done, and the level.
        options
            What `infer` takes besides.

        Returns
        -------
        Bench
            A row for each level; requests that failed are counted in it, by text.

        Raises
        ------
        InferenceError
            The model does not serve; the text is Triton's.
        InputError
            An input is of a type that Triton has not.
        ValueError
            A number is out of range, or there is no such trace level.
        """
        from blsnb.benchmark.measure import bench

        return bench(
            self._parts,
            client_request(model_name, inputs, options),
            concurrency=concurrency,
            duration_s=duration_s,
            requests=requests,
            warm_up_requests=warm_up_requests,
            trace_level=trace_level,
            progress=progress,
        )

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
        """Make the same requests here and on a real Triton server, and compare.

        A model's values, datatypes, shapes, error codes and texts, the order of its
        responses and their parameters count; how long it takes is told. The models
        here keep their state between requests; those of a server of its own are new.

        Parameters
        ----------
        inputs
            Of the first request, as for `infer`; None if there are only cases.
        target
            ``"local"``: a real server is started with an export of the models and
            stopped afterwards. It is a ``tritonserver`` on PATH, or that of an
            installed nvidia-pytriton. ``"grpc://host:port"``: one that runs, and
            has the models.
        cases
            Further requests: a JSON file with a list of objects, or the objects. Each
            has ``inputs``, and may have a ``name`` and what `infer` takes besides. In
            a file a value is what JSON has, or ``{"npy": "path"}`` of a NumPy file
            beside it.
        atol, rtol
            Numbers agree if they are at most ``atol + rtol * |real value|`` apart.
        timeout_s
            Seconds that a real server has to become ready, and to answer each
            request.
        install
            Whether a real server, and packages that the models import, may be
            installed from the package index, in an environment of its own.
        progress
            Told the share that is done, and what is being done.
        options
            What `infer` takes besides, for all requests.

        Returns
        -------
        Parity
            ``agree``, the ``differences``, and both runs of each case.

        Raises
        ------
        InputError
            A request has another form, or an input a type that Triton has not.
        RepositoryError
            There is no such model, or a stand-in answers in its run.
        TritonServerError
            There is no real server, it cannot be reached or does not become ready,
            or the model does not load there; the text says why.
        ValueError
            The target is none.
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
    ) -> Endpoints:
        """Put the server behind Triton's HTTP and gRPC interfaces.

        Clients of Triton reach its models as they reach those of a real server.

        Parameters
        ----------
        http, grpc, metrics
            The ports; 0 for a free one, None for no such interface.
        host
            The address to listen on. Any other than this machine's own lets everybody
            who reaches it run the models' code, and load other models: a warning says
            so.

        Returns
        -------
        Endpoints
            Closed with the server, or before it with `Endpoints.close`.

        Raises
        ------
        OSError
            A port is in use or not allowed; the text names it.
        ServerClosedError
            The server was closed.
        ValueError
            No port has such a number.
        """
        from blsnb.serving.endpoints import serve

        return serve(self, http=http, grpc=grpc, metrics=metrics, host=host)
