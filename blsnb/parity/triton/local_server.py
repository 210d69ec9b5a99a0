"""A real server that one comparison starts and stops, with an export of the models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from blsnb.engine.settings import Settings
from blsnb.errors import TraceFileError
from blsnb.parity.triton.client import TritonClient
from blsnb.parity.triton.environment import TritonEnv
from blsnb.parity.triton.server_process import ServerDiedError, TritonServer
from blsnb.trace.spans import Trace
from blsnb.trace.triton.trace_file import read_traces


class LocalServer:
    """A context manager that runs a real server.

    Parameters
    ----------
    folder
        Receives its log and its traces.
    tracing
        Whether all requests are traced, with their tensors.
    """

    def __init__(
        self,
        env: TritonEnv,
        folder: Path,
        repository: Path,
        models: Sequence[str],
        options: Sequence[str],
        *,
        ready_s: float,
        tracing: bool = True,
    ) -> None:
        self._trace = folder / "trace.json"
        arguments = [
            *(f"--load-model={name}" for name in models),
            # A model that does not load is reported by name; the others serve.
            "--exit-on-error=false",
            "--strict-readiness=false",
            *options,
            *(_tracing(self._trace) if tracing else ()),
        ]
        self._server = TritonServer(
            env, repository, folder / "log", arguments, ready_s=ready_s
        )
        name = f"the real server ({env.package})"
        self.client = TritonClient(self._server.stub, name)

    def __enter__(self) -> LocalServer:
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        if isinstance(error, ServerDiedError):
            error.log = self._server.log_end()
        # After an interrupt the user does not wait until models are finalized.
        if error is None:
            self._server.close()
        else:
            self._server.kill()

    @property
    def pid(self) -> int:
        """Id of the server's process."""
        return self._server.pid

    def traces(self) -> list[Trace]:
        """Return the traced requests; complete once the server has stopped."""
        try:
            return read_traces(self._trace)
        except (OSError, TraceFileError):
            return []


def _tracing(file: Path) -> list[str]:
    settings = ["mode=triton", "rate=1", "level=TIMESTAMPS", "level=TENSORS"]
    # A file for each request: it is complete when the request has ended.
    settings += [f"triton,file={file}", "triton,log-frequency=1"]
    return [f"--trace-config={setting}" for setting in settings]


def server_options(settings: Settings, caches: Path) -> list[str]:
    """Return ``tritonserver`` arguments that repeat the settings of a blsnb server."""
    options = settings.arguments()
    if settings.cache_bytes and caches.is_dir():
        options.append(f"--cache-directory={caches}")
    return options
