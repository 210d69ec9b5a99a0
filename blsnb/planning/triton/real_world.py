"""Real servers that bear a load: for the calibration of a plan and for its check."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path

from blsnb.benchmark.client import Sender
from blsnb.benchmark.level import Load
from blsnb.errors import BlsnbError, TritonServerError
from blsnb.files.owned import OwnedFolder
from blsnb.parity.blsnb_client import BlsnbClient
from blsnb.parity.targets import Local
from blsnb.parity.triton.client import TritonClient
from blsnb.parts.requests import ClientRequest
from blsnb.parts.server_parts import ServerParts
from blsnb.planning.calibrate import configs_of, refuse_unsimulated
from blsnb.planning.calibration import TRITON, Calibration
from blsnb.planning.observations import (
    Configs,
    Observed,
    observe,
    reached,
    size_of,
)
from blsnb.planning.simulation.loads import Mix
from blsnb.planning.triton.calibrate import observe_plain, observe_traced
from blsnb.planning.triton.observation import Observation
from blsnb.planning.triton.phases import RealServer
from blsnb.planning.triton.recorded import Recorded, calibrate_recorded
from blsnb.repository.directory import CONFIG_FILE
from blsnb.results.replay import request_of
from blsnb.trace.events import TraceLevel
from blsnb.trace.spans import Span, Trace

_SOURCE = Path(__file__).with_name("traced_model.txt")
_MODEL, _ORIGINAL = "model.py", "model_with_its_trace.py"
_FOLDER = "blsnb-load-"
_READY_S = 120.0
_LOOKS, _LOOK_S = 20, 3.0
"""Maximum number of requests here that show which models are called, and seconds."""


class RealWorld:
    """The models of a server here as they run on a real server: the world ``triton``.

    Parameters
    ----------
    request
        A request of a client.
    recording
        A recording of a production server, from which a plan is calibrated; None to
        observe the models on real servers that are started for it.
    computing
        For a recording: the share of a model's own work that needs a processor.
    """

    name = TRITON

    def __init__(
        self,
        parts: ServerParts,
        request: ClientRequest,
        *,
        recording: Recorded | None = None,
        computing: Mapping[str, float] | None = None,
    ) -> None:
        self._parts = parts
        self._request = request
        self._recording = recording
        self._computing = computing or {}
        self.messages = [parts.requests.message(request)]

    @contextmanager
    def serving(
        self, configs: Mapping[str, str], *, traced: bool = False
    ) -> Iterator[RealServer]:
        """Run a server with the models, and stop it.

        Parameters
        ----------
        configs
            Other configurations as text, by model.
        traced
            Whether the models pass their traces on.
        """
        owned = OwnedFolder.temporary(_FOLDER)
        folder = owned.create()
        try:
            target = Local(
                BlsnbClient(self._parts),
                folder,
                may_install=False,
                timeout_s=_READY_S,
                report=lambda words: None,
                prepare=partial(_prepared, folder, configs, traced),
                tracing=traced,
            )
            called = reached(self._looks)
            with target.serving(self._request.model_name, called) as client:
                _check_loaded(client, called)
                yield RealServer(client, target)
        finally:
            owned.close()

    @contextmanager
    def sender(self, configs: Mapping[str, str]) -> Iterator[Sender]:
        """Run a server with other configurations, and return a client of it."""
        with self.serving(configs) as server:
            yield server.client.sender(self.messages)

    def calibrate(self, requests: int, duration_s: float, mix: Mix) -> Calibration:
        """Calibrate a plan from the recording, or on real servers.

        Raises
        ------
        TritonServerError
            A server does not start, or a request failed.
        """
        if self._recording is not None:
            return calibrate_recorded(
                self._recording,
                self._request.model_name,
                configs_of(self._parts, self._parts.engine.catalog.names()),
                self._computing,
            )
        observation = self.observation(Load(duration_s, requests))
        with self.serving({}, traced=True) as server:
            found = observe_traced(server, observation)
        with self.serving({}) as server:
            return observe_plain(server, observation, found)

    def observation(self, load: Load) -> Observation:
        """Return what is to be observed, from a few requests here.

        Raises
        ------
        BlsnbError
            A model has a kind of scheduling that is not simulated.
        """
        # A request of a decoupled model would fail in another way.
        _refuse_unobserved(configs_of(self._parts, [self._request.model_name]))
        spans = self._spans()
        configs = configs_of(self._parts, sorted(spans))
        _refuse_unobserved(configs)
        root = configs[self._request.model_name]
        is_sequence = root.scheduling == "sequence_batching"
        limits = self._parts.engine.settings.rate_limits
        return Observation(
            root.name,
            configs,
            self.messages,
            {
                name: request_of(*spans[name])
                for name, config in configs.items()
                if config.scheduling == "dynamic_batching"
            },
            {name: size_of(configs, *spans[name]) for name in configs},
            load,
            Mix(lengths=(1,)) if is_sequence else Mix(),
            None if limits is None else limits.given,
        )

    def executions(self) -> dict[str, Observed]:
        """Return the executions of each model that a few requests led to here."""
        return observe(self._looks, configs_of(self._parts, self._spans()))

    def _spans(self) -> dict[str, tuple[Trace, Span]]:
        """Return a request of each model that was reached here."""
        return {
            trace.models[span.model].name: (trace, span)
            for trace in self._looks
            for span in trace.spans
            if trace.models[span.model].kind != "span"
        }

    @cached_property
    def _looks(self) -> list[Trace]:
        """Return traces of requests here, which show the calls and their inputs."""
        parts, traces = self._parts, list[Trace]()
        until = time.monotonic() + _LOOK_S
        while not traces or (len(traces) < _LOOKS and time.monotonic() < until):
            record = parts.recorder.unkept(TraceLevel.TENSORS)
            traces.append(parts.requests.run(self._request, None, record).trace)
        return traces


def _prepared(
    folder: Path,
    configs: Mapping[str, str],
    traced: bool,
    repository: Path,
    names: Sequence[str],
) -> Path:
    """Return a repository with other configurations, whose models may be copies."""
    for name, text in configs.items():
        (repository / name / CONFIG_FILE).write_text(text)
    if not traced:
        return repository
    copy = folder / "traced"
    copy.mkdir()
    copy_traced(repository, names, copy)
    return copy


def _check_loaded(client: TritonClient, called: Collection[str]) -> None:
    """Refuse a server without a model that requests reach."""
    for name, reason in sorted(client.load_errors().items()):
        if name in called:
            raise TritonServerError(
                f"model {name!r} does not load on the real server: "
                f"{reason or 'it gives no reason'}"
            )


def _refuse_unobserved(configs: Configs) -> None:
    """Refuse models that are not simulated, or whose executions no trace shows."""
    refuse_unsimulated(configs)
    for name, config in configs.items():
        if config.decoupled:
            raise BlsnbError(
                f"model {name!r}: a plan for a real server does not observe decoupled "
                "models yet"
            )


def copy_traced(repository: Path, names: Iterable[str], folder: Path) -> None:
    """Copy models into an empty folder.

    A model whose configuration names another file than ``model.py`` is copied as it
    is.
    """
    for name in names:
        copy = folder / name
        shutil.copytree(repository / name, copy, symlinks=True)
        for model in copy.glob(f"*/{_MODEL}"):
            model.rename(model.with_name(_ORIGINAL))
            shutil.copyfile(_SOURCE, model)
