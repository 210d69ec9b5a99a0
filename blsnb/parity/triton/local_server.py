"""LocalServer: a real server of a comparison's own, with the models of an export."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from blsnb.errors import TraceFileError
from blsnb.parity.triton.client import Theirs
from blsnb.parity.triton.environment import TritonEnv
from blsnb.parity.triton.server_process import ServerDiedError, TritonServer
from blsnb.trace.spans import Trace
from blsnb.trace.triton.trace_file import read_traces

_TRACE = "trace.json"


class LocalServer:
    """Runs from ``with`` to its end, whatever happens between.

    Parameters
    ----------
    env
        The installation to run.
    folder
        Where its log and its trace go.
    repository
        Folder that holds the model folders.
    models
        Names of those to load.
    options
        Further arguments of the command.
    ready_s
        Seconds that it has to load them.

    Raises
    ------
    TritonServerError
        It ended, or was not ready in time.
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
    ) -> None:
        self._trace = folder / _TRACE
        arguments = [
            *(f"--load-model={name}" for name in models),
            # What does not load is told by name, and the others can be asked.
            "--exit-on-error=false",
            "--strict-readiness=false",
            *options,
            *_tracing(self._trace),
        ]
        self._server = TritonServer(
            env, repository, folder / "log", arguments, ready_s=ready_s
        )
        self.theirs = Theirs(self._server.stub, f"the real server ({env.package})")

    def __enter__(self) -> LocalServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, ServerDiedError):
            error.log = self._server.last_words()
        # Who is interrupted does not wait until models are finalized.
        if error is None:
            self._server.close()
        else:
            self._server.kill()

    def traces(self) -> list[Trace]:
        """Return what it has traced; all of it once it was stopped."""
        try:
            return read_traces(self._trace)
        except (OSError, TraceFileError):
            return []


def _tracing(file: Path) -> list[str]:
    settings = ["mode=triton", "rate=1", "level=TIMESTAMPS", "level=TENSORS"]
    # A file for each request: it is whole once the request has ended.
    settings += [f"triton,file={file}", "triton,log-frequency=1"]
    return [f"--trace-config={setting}" for setting in settings]
