"""Real servers that bear a load: for the calibration of a plan and for its check."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from blsnb.benchmark.client import Sender
from blsnb.benchmark.level import Load
from blsnb.files.owned import OwnedFolder, sweep
from blsnb.model.config import ModelConfig
from blsnb.parity.blsnb_client import BlsnbClient
from blsnb.parity.targets import Local, Report
from blsnb.parity.triton.client import TritonClient
from blsnb.parts.requests import ClientRequest
from blsnb.parts.server_parts import ServerParts
from blsnb.pb_utils.message import RequestMessage
from blsnb.planning.calibration import TRITON, Calibration
from blsnb.planning.observations import size_of
from blsnb.planning.triton.calibrate import Observation, calibrated
from blsnb.planning.triton.real_server import RealServer
from blsnb.planning.triton.traced_copy import copy_traced
from blsnb.planning.unsimulated import refuse_unsimulated
from blsnb.results.replay import request_of
from blsnb.trace.events import TraceLevel
from blsnb.trace.spans import Trace

_FOLDER = "blsnb-load-"
_READY_S = 120.0
_LOOKS, _LOOK_S = 20, 3.0
"""Maximum number of requests here that show which models are called, and seconds."""


class LoadedServer:
    """A real server on this machine that bears a load."""

    def __init__(self, client: TritonClient, target: Local) -> None:
        self._client = client
        self._target = target

    @property
    def pid(self) -> int | None:
        """Id of its process."""
        return self._target.pid

    def sender(self, messages: Sequence[RequestMessage]) -> Sender:
        """Return a client that sends these requests again and again."""
        return self._client.sender(messages)

    def set_tracing(self, enabled: bool) -> None:
        """Trace the times of all requests, or of none."""
        self._client.set_tracing(enabled)

    def traces(self) -> Sequence[Trace]:
        """Return the requests that were traced so far."""
        return self._target.traces()


class RealLoads:
    """Runs the models of a server here on real servers.

    Parameters
    ----------
    request
        A request of a client.
    install
        Whether a server, and packages that models import, may be installed.
    messages
        Requests of clients in their order, such as those of sequences; None to send
        the request again and again.
    """

    def __init__(
        self,
        parts: ServerParts,
        request: ClientRequest,
        *,
        install: bool = False,
        report: Report = lambda words: None,
        messages: Sequence[RequestMessage] | None = None,
    ) -> None:
        self._parts = parts
        self._request = request
        self._install = install
        self._report = report
        self.messages = messages or [parts.requests.message(request)]

    @contextmanager
    def serving(
        self, configs: Mapping[str, str] | None = None, *, traced: bool = False
    ) -> Iterator[RealServer]:
        """Run a server with the models, and stop it.

        Parameters
        ----------
        configs
            Other configurations as text, by model.
        traced
            Whether the models pass their traces on.
        """
        temporary = Path(tempfile.gettempdir()).resolve()
        sweep(temporary, _FOLDER)
        owned = OwnedFolder(temporary, _FOLDER)
        folder = owned.create()

        def prepare(repository: Path, names: Sequence[str]) -> Path:
            for name, text in (configs or {}).items():
                (repository / name / "config.pbtxt").write_text(text)
            if not traced:
                return repository
            copy = folder / "traced"
            copy.mkdir()
            copy_traced(repository, names, copy)
            return copy

        try:
            target = Local(
                BlsnbClient(self._parts),
                folder,
                may_install=self._install,
                timeout_s=_READY_S,
                report=self._report,
                prepare=prepare,
                tracing=traced,
            )
            called = {name for trace in self._looks for name in _models(trace)}
            with target.serving(self._request.model_name, sorted(called)) as client:
                yield LoadedServer(client, target)
        finally:
            owned.close()

    def calibrated(self, *, requests: int, duration_s: float) -> Calibration:
        """Calibrate a plan on real servers; see `calibrated`."""
        load = Load(duration_s, requests)
        observation = self.observation(load)
        return calibrated(
            observation, lambda: self.serving(traced=True), lambda: self.serving()
        )

    def observation(self, load: Load) -> Observation:
        """Return what is to be observed, from a few requests here.

        Raises
        ------
        BlsnbError
            A model has a kind of scheduling that is not simulated.
        """
        spans = {
            trace.models[span.model].name: (trace, span)
            for trace in self._looks
            for span in trace.spans
            if trace.models[span.model].name in _models(trace)
        }
        configs: dict[str, ModelConfig] = {}
        for name in sorted(spans):
            refuse_unsimulated(self._parts, name, TRITON)
            config = self._parts.engine.catalog.config(name)
            if config is not None:
                configs[name] = config
        inner = {
            name: request_of(*spans[name])
            for name, config in configs.items()
            if config.message.HasField("dynamic_batching")
        }
        sizes = {name: size_of(*spans[name]) for name in configs}
        return Observation(
            self._request.model_name, configs, self.messages, inner, sizes, load
        )

    @cached_property
    def _looks(self) -> list[Trace]:
        """Return traces of requests here, which show the calls and their inputs."""
        parts, traces = self._parts, list[Trace]()
        until = time.monotonic() + _LOOK_S
        while not traces or (len(traces) < _LOOKS and time.monotonic() < until):
            record = parts.recorder.unkept(TraceLevel.TENSORS)
            traces.append(parts.requests.run(self._request, None, record).trace)
        return traces


def _models(trace: Trace) -> set[str]:
    """Return the names of the models that a request reached."""
    return {model.name for model in trace.models if model.kind != "span"}
