"""Where the models of a plan are observed, and its best configuration is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from blsnb.benchmark.client import Sender
from blsnb.errors import BlsnbError
from blsnb.parts.requests import ClientRequest
from blsnb.parts.server_parts import HasParts, ServerParts, parts_of
from blsnb.planning.calibrate import calibrate, client_of
from blsnb.planning.calibration import HERE, Calibration
from blsnb.planning.simulation.loads import Mix
from blsnb.repository.directory import CONFIG_FILE
from blsnb.trace.events import TraceLevel

OpenServer = Callable[[Path], AbstractContextManager[HasParts]]
"""Opens a server here with all models of a repository, and closes it at the end."""


class PlannedWorld(Protocol):
    """Observes the models of a request, and runs other configurations of them."""

    @property
    def name(self) -> str:
        """``"here"`` or ``"triton"``."""

    def calibrate(self, requests: int, duration_s: float, mix: Mix) -> Calibration:
        """Observe the models; see `calibrate`."""

    def sender(self, configs: Mapping[str, str]) -> AbstractContextManager[Sender]:
        """Run a server with other configurations, and return a client of it."""


class OwnWorld:
    """The models in this process.

    Parameters
    ----------
    request
        A request of a client.
    open_server
        Opens a server for the check of a configuration.
    """

    name = HERE
    _lengths: tuple[int, ...] = ()

    def __init__(
        self, parts: ServerParts, request: ClientRequest, open_server: OpenServer
    ) -> None:
        self._parts = parts
        self._request = request
        self._open_server = open_server

    def calibrate(self, requests: int, duration_s: float, mix: Mix) -> Calibration:
        """Observe the models; see `calibrate`."""
        self._lengths = mix.lengths
        return calibrate(self._parts, self._request, requests, duration_s, mix)

    @contextmanager
    def sender(self, configs: Mapping[str, str]) -> Iterator[Sender]:
        """Run a server with other configurations, and return a client of it.

        Raises
        ------
        BlsnbError
            The load has sequences of several requests, or a model is no longer served.
        """
        if any(length > 1 for length in self._lengths):
            raise BlsnbError("a check does not send sequences of several requests yet")
        with TemporaryDirectory(prefix="blsnb-check-") as name:
            repository = Path(name).resolve() / "repository"
            self._parts.folders.export_as_served(repository)
            for model, text in configs.items():
                if not (repository / model).is_dir():
                    raise BlsnbError(
                        f"model {model!r} is no longer served. Load it to check the "
                        "plan."
                    )
                (repository / model / CONFIG_FILE).write_text(text)
            with self._open_server(repository) as server:
                parts = parts_of(server)
                yield client_of(
                    parts,
                    self._request,
                    lambda: parts.recorder.unkept(TraceLevel.TIMESTAMPS),
                    self._lengths,
                )
