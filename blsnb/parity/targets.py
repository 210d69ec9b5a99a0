"""The real server of a comparison: one started for it, or one that runs elsewhere."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tritonclient.grpc import service_pb2_grpc

from blsnb.backends.remote_messages import channel_to, netloc_of
from blsnb.engine.settings import Settings
from blsnb.errors import TraceFileError, TritonServerError
from blsnb.parity import install
from blsnb.parity.blsnb_client import BlsnbClient
from blsnb.parity.discovery import find
from blsnb.parity.packages import pip_command, provide
from blsnb.parity.triton.client import TritonClient
from blsnb.parity.triton.environment import TritonEnv
from blsnb.parity.triton.server_process import ServerDiedError, TritonServer
from blsnb.trace.spans import Trace
from blsnb.trace.triton.trace_file import read_traces

LOCAL = "local"
_TEXT_SUFFIXES = frozenset({".py", ".pbtxt", ".json", ".txt", ".toml", ".yaml", ".yml"})
_MAX_TEXT_BYTES = 1 << 20

Report = Callable[[str], None]
"""Receives a short description of each step."""


Prepare = Callable[[Path, Sequence[str]], Path]
"""Receives exported models and the names of those to load; returns a repository."""


class Remote:
    """A server that runs elsewhere and has the models."""

    pid = None
    """Its process is on the other machine."""

    def __init__(self, address: str) -> None:
        try:
            self._netloc = netloc_of(address)
        except ValueError:
            raise ValueError(
                f"target={address!r} is not valid; expected 'local', or an address "
                "such as 'grpc://localhost:8001'"
            ) from None
        self._address = address
        self.notes: list[str] = []

    def folders(self) -> tuple[Path, ...]:
        """Return nothing: the folders are on the other machine."""
        return ()

    def traces(self) -> Sequence[Trace]:
        """Return nothing: the trace files are on the other machine."""
        return ()

    @contextmanager
    def serving(self, model_name: str, called: Iterable[str]) -> Iterator[TritonClient]:
        """Connect to the server."""
        with channel_to(self._netloc) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            client = TritonClient(stub, f"the server at {self._address}")
            if not client.is_ready(model_name):
                raise TritonServerError(
                    f"model {model_name!r} is not ready at {self._address}",
                    advice="Load it there first.",
                )
            yield client


class Local:
    """A server that is started with an export of the models, and stopped.

    Parameters
    ----------
    folder
        An empty folder for all files; its creator removes it.
    may_install
        Whether a server, and packages that models import, may be installed.
    timeout_s
        Maximum time until the server is ready, in seconds.
    prepare
        Receives the folder of the export and the names of the models to load; returns
        the repository to serve.
    tracing
        Whether all requests are traced, with their tensors.
    """

    def __init__(
        self,
        client: BlsnbClient,
        folder: Path,
        *,
        may_install: bool,
        timeout_s: float,
        report: Report,
        prepare: Prepare = lambda repository, names: repository,
        tracing: bool = True,
    ) -> None:
        self._prepare = prepare
        self._tracing = tracing
        self._client = client
        self._folder = folder
        self._may_install = may_install
        self._timeout_s = timeout_s
        self._report = report
        self._repository = folder / "repository"
        self._traces = folder / "trace.json"
        self.pid: int | None = None
        """Id of the server's process; None before it runs."""
        self.notes: list[str] = []
        self._env = self._find()

    def _find(self) -> TritonEnv:
        try:
            return find(self._folder)
        except TritonServerError:
            if not self._may_install:
                raise
            return install.install(self._report)

    def folders(self) -> tuple[Path, ...]:
        """Return the folder of the export."""
        return (self._repository,)

    def traces(self) -> Sequence[Trace]:
        """Return the traced requests; complete once the server has stopped."""
        try:
            return read_traces(self._traces)
        except (OSError, TraceFileError):
            return ()

    @contextmanager
    def serving(self, model_name: str, called: Iterable[str]) -> Iterator[TritonClient]:
        """Run the server with the model and all models that it may call."""
        names = self._export([model_name, *called])
        folders = [self._repository / name for name in names]
        provide(self._env, folders, may_install=self._may_install, report=self._report)
        self._report(f"start the real server with {', '.join(names) or 'no model'}")
        with self._started(self._prepare(self._repository, names), names) as client:
            self._check_loaded(model_name, client.load_errors())
            yield client
            self._report("stop the real server")
        self._note_python()

    @contextmanager
    def _started(
        self, repository: Path, names: Sequence[str]
    ) -> Iterator[TritonClient]:
        """Run the server; after an error nothing waits until models are finalized."""
        arguments = [
            *(f"--load-model={name}" for name in names),
            # A model that does not load is reported by name; the others serve.
            "--exit-on-error=false",
            "--strict-readiness=false",
            *server_options(self._client.settings, self._env.caches),
            *(_tracing(self._traces) if self._tracing else ()),
        ]
        log = self._folder / "log"
        server = TritonServer(
            self._env, repository, log, arguments, ready_s=self._timeout_s
        )
        self.pid = server.pid
        try:
            yield TritonClient(server.stub, f"the real server ({self._env.package})")
        except BaseException as error:
            if isinstance(error, ServerDiedError):
                error.log = server.log_end()
            server.kill()
            raise
        server.close()

    def _export(self, called: Sequence[str]) -> list[str]:
        """Export all models, and return the names of those to load."""
        self._report("export the models")
        ready = self._client.ready()
        exported = self._client.export(self._repository)
        texts = {name: texts_in(self._repository / name) for name in exported.models}
        names = [name for name in needed_models(called, texts) if name in ready]
        self.notes += [
            note for note in exported.notes if note.partition(":")[0] in names
        ]
        return names

    def _check_loaded(self, model_name: str, errors: dict[str, str]) -> None:
        if model_name in errors:
            raise TritonServerError(
                f"model {model_name!r} does not load on the real server: "
                f"{errors[model_name] or 'it gives no reason'}",
                advice=_advice(errors[model_name], self._env),
            )
        self.notes += [
            f"{name} does not load on the real server: {reason}"
            for name, reason in sorted(errors.items())
        ]

    def _note_python(self) -> None:
        python = ".".join(platform.python_version_tuple()[:2])
        if self._env.python_library and self._env.python_version != python:
            self.notes.append(
                f"models ran on Python {self._env.python_version} on the real server, "
                f"and on Python {python} here"
            )


Target = Remote | Local
"""A real server that serves for the time of a ``with`` block."""


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


def _advice(reason: str, env: TritonEnv) -> str:
    if "No module named" not in reason:
        return ""
    return (
        "The real server has a Python environment of its own. Put your own module "
        "beside model.py (%%triton_model ... --file PATH); add a package with\n    "
        f"{pip_command(env, ['PACKAGE'])}"
    )


def needed_models(called: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    """Return the called models and those that they may call, sorted.

    A model may call another one if it contains its name in quotes: in its source, its
    configuration or another text file of its folder.

    Parameters
    ----------
    called
        Names of models; unknown ones are ignored.
    texts
        Contents of the text files, by model name.
    """
    found: set[str] = set()
    pending = [name for name in called if name in texts]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += _quoted_names(texts[name], texts)
    return sorted(found)


def _quoted_names(text: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if any(f"{quote}{name}{quote}" in text for quote in "\"'"):
            yield name


def texts_in(folder: Path) -> str:
    """Return the contents of the small text files of a model's folder."""
    return "\n".join(
        path.read_text("utf-8", "replace")
        for path in sorted(folder.rglob("*"))
        if path.suffix in _TEXT_SUFFIXES
        and path.is_file()
        and path.stat().st_size <= _MAX_TEXT_BYTES
    )
