"""Targets: the real server that a comparison asks, one of its own or one elsewhere."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import grpc
from tritonclient.grpc import service_pb2_grpc

from blsnb.backends.address import netloc_of
from blsnb.errors import TritonServerError
from blsnb.parity import install
from blsnb.parity.blsnb_client import Ours
from blsnb.parity.discovery import find
from blsnb.parity.needed import needed, texts_in
from blsnb.parity.packages import command_adding, provide
from blsnb.parity.triton.client import Theirs
from blsnb.parity.triton.environment import TritonEnv
from blsnb.parity.triton.local_server import LocalServer
from blsnb.parity.triton.server_options import server_options
from blsnb.parity.triton.server_process import ANY_SIZE
from blsnb.trace.spans import Trace

LOCAL = "local"

Say = Callable[[str], None]


class Target(Protocol):
    """A real server that can be asked for a while."""

    notes: list[str]
    """What there is to know of it, once it was asked."""

    def serving(
        self, model: str, called: Iterable[str]
    ) -> AbstractContextManager[Theirs]:
        """Let it serve a model, and those that it has called."""

    def folders(self) -> tuple[Path, ...]:
        """Where its models are; their paths stand in texts."""

    def traces(self) -> Sequence[Trace]:
        """Return what it has traced, once it has ended."""


def target_of(
    address: str,
    ours: Ours,
    folder: Path,
    *,
    may_install: bool,
    timeout_s: float,
    say: Say,
) -> Target:
    """Return the target that is meant.

    Raises
    ------
    ValueError
        It is no address.
    TritonServerError
        There is no real server here.
    """
    if address != LOCAL:
        return Remote(address)
    return Local(ours, folder, may_install=may_install, timeout_s=timeout_s, say=say)


class Remote:
    """A server that runs elsewhere, and has the models.

    Parameters
    ----------
    address
        Such as ``"grpc://localhost:8001"``.

    Raises
    ------
    ValueError
        The address is another one.
    """

    def __init__(self, address: str) -> None:
        try:
            self._netloc = netloc_of(address)
        except ValueError:
            raise ValueError(
                f"{address!r} is no target: it is local, or an address such as "
                "grpc://localhost:8001"
            ) from None
        self._address = address
        self.notes: list[str] = []

    def folders(self) -> tuple[Path, ...]:
        """Return none: nobody here knows them."""
        return ()

    def traces(self) -> Sequence[Trace]:
        """Return none: its trace files are there."""
        return ()

    @contextmanager
    def serving(self, model: str, called: Iterable[str]) -> Iterator[Theirs]:
        """Connect to it.

        Raises
        ------
        TritonServerError
            It cannot be reached, or the model does not serve there.
        """
        with grpc.insecure_channel(self._netloc, options=ANY_SIZE) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            theirs = Theirs(stub, f"the server at {self._address}")
            if not theirs.is_ready(model):
                raise TritonServerError(
                    f"model {model!r} is not ready at {self._address}",
                    advice="Load it there first.",
                )
            yield theirs


class Local:
    """A server of its own, started with an export of the models, and stopped.

    Parameters
    ----------
    folder
        An empty one, for all that it needs; who made it removes it.
    may_install
        Whether a server, and what models import, may be installed.
    timeout_s
        Seconds that it has to become ready.
    say
        Told what is being done.

    Raises
    ------
    TritonServerError
        There is no real server here.
    """

    def __init__(
        self, ours: Ours, folder: Path, *, may_install: bool, timeout_s: float, say: Say
    ) -> None:
        self._ours = ours
        self._folder = folder
        self._may_install = may_install
        self._timeout_s = timeout_s
        self._say = say
        self._repository = folder / "repository"
        self._server: LocalServer | None = None
        self.notes: list[str] = []
        self._env = self._found()

    def _found(self) -> TritonEnv:
        try:
            return find(self._folder)
        except TritonServerError:
            if not self._may_install:
                raise
            return install.install(self._say)

    def folders(self) -> tuple[Path, ...]:
        """Return where the export is."""
        return (self._repository,)

    def traces(self) -> Sequence[Trace]:
        """Return what it has traced."""
        return () if self._server is None else self._server.traces()

    @contextmanager
    def serving(self, model: str, called: Iterable[str]) -> Iterator[Theirs]:
        """Run it with these models, and those that they may ask.

        Raises
        ------
        TritonServerError
            It does not become ready, or the model does not load.
        RepositoryError
            The models cannot be exported.
        """
        wanted = self._exported(model, called)
        folders = [self._repository / name for name in wanted]
        may = self._may_install
        provide(self._env, folders, may_install=may, say=self._say)
        self._say(f"starts the real server with {', '.join(wanted) or 'no model'}")
        with LocalServer(
            self._env,
            self._folder,
            self._repository,
            wanted,
            server_options(self._ours.settings, self._env.caches),
            ready_s=self._timeout_s,
        ) as self._server:
            self._check_loaded(model, self._server.theirs.reasons())
            yield self._server.theirs
            self._say("stops the real server")
        python = ".".join(platform.python_version_tuple()[:2])
        if self._env.python_library and self._env.python_version != python:
            self.notes.append(
                f"the real server's models ran on Python {self._env.python_version}, "
                f"those here on {python}"
            )

    def _exported(self, model: str, called: Iterable[str]) -> list[str]:
        """Export all models, and return those that are to be loaded."""
        self._say("exports the models")
        ready = self._ours.ready()
        exported = self._ours.export(self._repository)
        texts = {name: texts_in(self._repository / name) for name in exported.models}
        wanted = [name for name in needed([model, *called], texts) if name in ready]
        self.notes += [
            note for note in exported.notes if note.partition(":")[0] in wanted
        ]
        return wanted

    def _check_loaded(self, model: str, reasons: dict[str, str]) -> None:
        if model in reasons:
            raise TritonServerError(
                f"model {model!r} does not load on the real server: "
                f"{reasons[model] or 'it does not say why'}",
                advice=_advice(reasons[model], self._env),
            )
        self.notes += [
            f"{name} does not load on the real server: {reason}"
            for name, reason in sorted(reasons.items())
        ]


def _advice(reason: str, env: TritonEnv) -> str:
    if "No module named" not in reason:
        return ""
    return (
        "What can be imported here cannot be there. Put a module of your own beside "
        "model.py (%%triton_model ... --file PATH); a package is added by\n    "
        f"{command_adding(env, ['PACKAGE'])}"
    )
