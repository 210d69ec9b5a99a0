"""The real server as a target of the conformance cases."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import grpc
from tritonclient.grpc import service_pb2 as pb
from waiting import until

from blsnb.parity.triton.environment import TritonEnv
from blsnb.parity.triton.server_process import ServerDiedError, TritonServer

from .over_grpc import OverGrpc
from .targets import REPOSITORIES, Answer, Failure, Request

T = TypeVar("T")
CALL_S = 120.0
LIVES = 6
BACKENDS = "/opt/tritonserver/backends"
"""Folder of the backends of a server that is not told another one."""
MORTAL = ["--disable-auto-complete-config"]
"""Arguments of a server whose models are complete: each loads with one process less."""


class TritonTarget(OverGrpc):
    """A real server, into which models are copied when cases name them."""

    name = "triton"

    def __init__(self, env: TritonEnv, arguments: Sequence[str] = ()) -> None:
        self.python = env.python_version
        self._backends = env.backends
        self._folder = tempfile.TemporaryDirectory(prefix="blsnb-triton-")
        self.repository = Path(self._folder.name).resolve() / "repository"
        self.repository.mkdir()
        self._loaded: dict[str, Failure | None] = {}
        self._env = env
        self._mortal: TritonTarget | None = None
        self.beside: list[TritonTarget] = []
        self._repositories = [self.repository]
        self._arguments = arguments
        try:
            self.server = self._started()
        except BaseException:
            self._folder.cleanup()
            raise

    def _started(self) -> TritonServer:
        log = self.repository.parent / "server.log"
        return TritonServer(self._env, self.repository, log, self._arguments)

    @property
    def stub(self) -> Any:
        """The gRPC stub of the server."""
        return self.server.stub

    def surviving(self, work: Callable[[], T]) -> T:
        """Return the result of work; repeat it on a new server if the server ends.

        Release 2.51 may end a little after any request.
        """
        for _ in range(LIVES):
            if not self.lives():
                self.start_again()
            try:
                found = work()
            except Exception:
                if self.lives():
                    raise
                continue
            if self.lives():
                return found
        raise ServerDiedError(f"{LIVES} times in a row")

    def start_again(self) -> None:
        """Put a new server in the place of this one, and of those beside it."""
        for each in self.beside:
            each.start_again()
        self.server.close()
        self._loaded.clear()
        for folder in self.repository.iterdir():
            shutil.rmtree(folder)
        self.server = self._started()

    def load(self, model: str, source: Path | None = None) -> Failure | None:
        """Copy a model folder into the repository and load it, once."""
        if model not in self._loaded:
            self.place(model, source)
            self._loaded[model] = self._load(model)
        return self._loaded[model]

    def place(self, model: str, source: Path | None = None) -> None:
        """Copy a model folder into the repository."""
        folder, copy = source or REPOSITORIES / model, self.repository / model
        if not copy.exists():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(folder, copy, ignore=ignore)

    def unload(self, model: str, wait: bool = True) -> None:
        """Unload a model, wait until its instances are gone, remove its copy."""
        request = pb.RepositoryModelUnloadRequest(model_name=model)
        self.server.stub.RepositoryModelUnload(request, timeout=CALL_S)
        if wait:
            until(lambda: "UNLOADING" not in self._states(model), CALL_S)
        shutil.rmtree(self.repository / model, ignore_errors=True)
        self._loaded.pop(model, None)

    def config(self, model: str) -> str:
        """Return the configuration's JSON text, as HTTP's config endpoint gives it."""
        url = f"http://127.0.0.1:{self.server.http_port}/v2/models/{model}/config"
        with urllib.request.urlopen(url, timeout=CALL_S) as reply:
            return self.normalised(reply.read().decode())

    def apart(self, requests: Sequence[Request], *models: str) -> list[Answer]:
        """Send requests to a server of their own; if it ends, to the next one.

        Release 2.51 may end with `boost::interprocess::lock_exception` after refusing
        the request of a model.
        """

        def ask(mortal: TritonTarget, request: Request) -> Answer:
            for model in models:
                mortal.place(model)
            mortal.load(request.model)
            return mortal.infer(request)

        return [self.at_risk(partial(ask, request=each)) for each in requests]

    def at_risk(self, work: Callable[[TritonTarget], T]) -> T:
        """Return the result of work on the first server that survives it."""
        for _ in range(LIVES):
            if self._mortal is None:
                self._mortal = TritonTarget(self._env, MORTAL)
                self._repositories.append(self._mortal.repository)
            with contextlib.suppress(grpc.RpcError):
                found = work(self._mortal)
                if self._mortal.lives():
                    return found
            self._mortal.close()
            self._mortal = None
        raise ServerDiedError(f"{LIVES} times in a row")

    def lives(self) -> bool:
        """Whether the server is running."""
        try:
            live = self.server.stub.ServerLive(pb.ServerLiveRequest(), timeout=CALL_S)
        except grpc.RpcError:
            return False
        return live.live

    def metrics(self) -> str:
        """Return the text of the metrics port."""
        url = f"http://127.0.0.1:{self.server.metrics_port}/metrics"
        with urllib.request.urlopen(url, timeout=CALL_S) as reply:
            return reply.read().decode()

    def normalised(self, text: str) -> str:
        """Replace this server's own paths."""
        for repository in self._repositories:
            text = text.replace(str(repository), "<repo>")
        # Its line numbers, if any, are those of the server's own file.
        own = re.escape(self._backends) + r"/python/(triton_python_backend_utils\.py)"
        text = re.sub(own + r"(?:\(\d+\))?", r"<backend>/\1", text)
        return text.replace(self._backends, BACKENDS)

    def close(self) -> None:
        """Stop the server and remove its repository."""
        with ThreadPoolExecutor() as pool:
            if self._mortal is not None:
                pool.submit(self._mortal.close)
            self.server.close()
        self._folder.cleanup()

    def _load(self, model: str) -> Failure | None:
        request = pb.RepositoryModelLoadRequest(model_name=model)
        try:
            self.server.stub.RepositoryModelLoad(request, timeout=CALL_S)
        except grpc.RpcError as error:
            return self.failure(error)
        return None

    def _states(self, model: str) -> list[str]:
        index = self.server.stub.RepositoryIndex(pb.RepositoryIndexRequest())
        return [row.state for row in index.models if row.name == model]
