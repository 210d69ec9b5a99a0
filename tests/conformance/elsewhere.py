"""Servers of a test's own: other arguments, repositories that it writes itself."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import grpc
from tritonclient.grpc import service_pb2 as pb
from waiting import until

from blsnb import InferenceError, ModelLoadError, Server
from blsnb.parity.triton.environment import TritonEnv, installed
from blsnb.parity.triton.server_process import ServerDiedError, TritonServer

from .blsnb_target import GRPC_CODES
from .targets import Failure, Target
from .triton_target import MORTAL

CALL_S = 120.0
_CELLS = ("name", "version", "state", "reason")
WAIT_S = 60.0
PAUSE_S = 0.05
MODEL = """
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def initialize(self, args):
        {initialize}
    def execute(self, requests):
        y = pb_utils.Tensor("Y", np.array([{answer}], np.int32))
        return [pb_utils.InferenceResponse([y]) for _ in requests]
"""
CONFIG = 'backend: "python" output { name: "Y" data_type: TYPE_INT32 dims: [ 1 ] }'


def put(
    folder: Path,
    name: str,
    answer: int = 1,
    *,
    version: str = "1",
    initialize: str = "pass",
    config: str = CONFIG,
) -> None:
    """Write a model that returns a number."""
    path = folder / name / version
    path.mkdir(parents=True, exist_ok=True)
    source = unlike_before(MODEL.format(answer=answer, initialize=initialize))
    _write(folder / name / "config.pbtxt", config, folder.parent)
    _write(path / "model.py", source, folder.parent)
    make_newest(path / "model.py")


def _write(file: Path, text: str, beside: Path) -> None:
    """Write a file in one step, so that a poll never reads half of it."""
    new = beside / "new"
    new.write_text(text)
    os.replace(new, file)


class Elsewhere(Protocol):
    """The requests that such a server accepts."""

    def load(
        self, name: str, config: Mapping[str, Any] | str | None = None
    ) -> Failure | None:
        """Load a model, or with another configuration than its folder has."""

    def unload(self, name: str) -> Failure | None:
        """Unload a model."""

    def index(self) -> list[dict[str, str]]:
        """Return the rows of the index."""

    def infer(
        self, name: str, version: str = "", id: str = "", sequence: int = 0
    ) -> int | Failure:
        """Return the result of a model or of one version; or start a sequence."""

    def stop(self) -> None:
        """Start a shutdown, which completes running requests."""

    def counted(self, name: str) -> list[Any]:
        """Return how often a model was executed, and with which batch sizes."""

    def metrics(self) -> str:
        """Return the text of the metrics page."""


class _Triton:
    """A real server."""

    def __init__(self, server: TritonServer, folder: Path) -> None:
        self._server = server
        self._folder = folder

    def load(
        self, name: str, config: Mapping[str, Any] | str | None = None
    ) -> Failure | None:
        request = pb.RepositoryModelLoadRequest(model_name=name)
        if config is not None:
            text = config if isinstance(config, str) else json.dumps(config)
            request.parameters["config"].string_param = text
        failure = self._ask(self._server.stub.RepositoryModelLoad, request)
        # What it replaced is unloaded in the background.
        until(lambda: "UNLOADING" not in str(self.index()))
        return failure

    def unload(self, name: str) -> Failure | None:
        request = pb.RepositoryModelUnloadRequest(model_name=name)
        failure = self._ask(self._server.stub.RepositoryModelUnload, request)
        until(lambda: "UNLOADING" not in str(self.index()))
        return failure

    def _ask(self, call: Any, request: Any) -> Failure | None:
        try:
            call(request, timeout=CALL_S)
        except grpc.RpcError as error:
            return self._failure(error)
        return None

    def _failure(self, error: Any) -> Failure:
        text = (error.details() or "").replace(str(self._folder), "<folder>")
        return Failure(error.code().name, text)

    def index(self) -> list[dict[str, str]]:
        request = pb.RepositoryIndexRequest()
        reply = self._server.stub.RepositoryIndex(request, timeout=CALL_S)
        return [self._row(model) for model in reply.models]

    def _row(self, model: Any) -> dict[str, str]:
        """Return a row of the index in the form of HTTP: without empty fields."""
        cells = {name: getattr(model, name) for name in _CELLS}
        return {
            name: text.replace(str(self._folder), "<folder>")
            for name, text in cells.items()
            if text
        }

    def stop(self) -> None:
        os.kill(self._server.pid, signal.SIGTERM)
        # The server is notified a little later.
        until(lambda: not self._is_ready())

    def _is_ready(self) -> bool:
        try:
            request = pb.ServerReadyRequest()
            return self._server.stub.ServerReady(request, timeout=CALL_S).ready
        except grpc.RpcError:
            return False

    def infer(
        self, name: str, version: str = "", id: str = "", sequence: int = 0
    ) -> int | Failure:
        request = pb.ModelInferRequest(model_name=name, model_version=version, id=id)
        if sequence:
            request.parameters["sequence_id"].int64_param = sequence
            request.parameters["sequence_start"].bool_param = True
        try:
            reply = self._server.stub.ModelInfer(request, timeout=CALL_S)
        except grpc.RpcError as error:
            return self._failure(error)
        return int.from_bytes(reply.raw_output_contents[0], "little")

    def counted(self, name: str) -> list[Any]:
        url = f"http://127.0.0.1:{self._server.http_port}/v2/models/{name}/stats"
        with urllib.request.urlopen(url, timeout=CALL_S) as reply:
            return _counts(json.loads(reply.read()))

    def metrics(self) -> str:
        url = f"http://127.0.0.1:{self._server.metrics_port}/metrics"
        with urllib.request.urlopen(url, timeout=CALL_S) as reply:
            return reply.read().decode()


class _Blsnb:
    """A blsnb server."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._server = server
        self._folder = folder

    def load(
        self, name: str, config: Mapping[str, Any] | str | None = None
    ) -> Failure | None:
        return self._ask(lambda name: self._server.load(name, config=config), name)

    def unload(self, name: str) -> Failure | None:
        return self._ask(self._server.unload, name)

    def _ask(self, call: Any, name: str) -> Failure | None:
        try:
            call(name)
        except ModelLoadError as error:
            return self._failure(error)
        return None

    def _failure(self, error: Any) -> Failure:
        text = error.message.replace(str(self._folder), "<folder>")
        return Failure(GRPC_CODES.get(error.code, error.code), text)

    def index(self) -> list[dict[str, str]]:
        text = json.dumps(self._server.index())
        return json.loads(text.replace(str(self._folder), "<folder>"))

    def stop(self) -> None:
        self._stopping = threading.Thread(target=self._server.close)
        self._stopping.start()
        until(lambda: self._server.closed)

    def infer(
        self, name: str, version: str = "", id: str = "", sequence: int = 0
    ) -> int | Failure:
        number = int(version) if version else None
        given = {"correlation_id": sequence, "sequence_start": True} if sequence else {}
        try:
            run = self._server.infer(name, {}, version=number, request_id=id, **given)
            return int(run["Y"][0])
        except InferenceError as error:
            return self._failure(error)

    def counted(self, name: str) -> list[Any]:
        return _counts(self._server.statistics(name))

    def metrics(self) -> str:
        return self._server.metrics()


def _counts(statistics: Any) -> list[Any]:
    (row,) = statistics["model_stats"]
    counts = {name: each["count"] for name, each in row["inference_stats"].items()}
    batches = [
        [each["batch_size"], each["compute_infer"]["count"]]
        for each in row["batch_stats"]
    ]
    return [row["inference_count"], row["execution_count"], counts, batches]


@contextlib.contextmanager
def elsewhere(
    target: Target,
    folder: Path,
    repositories: tuple[str, ...] = ("models",),
    *,
    mode: str = "explicit",
    startup: tuple[str, ...] = (),
    exit_on_error: bool = True,
    resources: Mapping[str, Any] | None = None,
    exit_timeout_s: int = 2,
    metrics: Mapping[str, str] | None = None,
    cache_bytes: int = 0,
    completes: bool = False,
) -> Iterator[Elsewhere]:
    """Run a server of the target's kind on repositories in a folder.

    Parameters
    ----------
    resources
        If given, rates are limited, and these are what the server has.
    completes
        Whether it completes configurations; each load then takes a process more.

    Raises
    ------
    ServerDiedError, ModelLoadError, ValueError
        It does not start: see `why`.
    """
    paths = [folder / name for name in repositories]
    for path in paths:
        path.mkdir(exist_ok=True)
    if target.name == "blsnb":
        with Server(
            model_repository=paths,
            model_control_mode=mode,
            startup_models=startup,
            exit_on_error=exit_on_error,
            repository_poll_s=PAUSE_S,
            triton_release="24.10",
            rate_limit="off" if resources is None else "execution_count",
            rate_limit_resources=resources,
            exit_timeout_s=exit_timeout_s,
            metrics_config=metrics,
            cache_bytes=cache_bytes,
            strict_model_config=not completes,
        ) as ours:
            yield _Blsnb(ours, folder)
        return
    arguments = [
        *([] if completes else MORTAL),
        *(f"--model-repository={path}" for path in paths[1:]),
        f"--model-control-mode={mode}",
        *(f"--load-model={name}" for name in startup),
        f"--exit-on-error={str(exit_on_error).lower()}",
        # With broken models it would never report that it is ready.
        "--strict-readiness=false",
        f"--exit-timeout-secs={exit_timeout_s}",
        *(["--repository-poll-secs=1"] if mode == "poll" else []),
        *([] if resources is None else ["--rate-limit=execution_count"]),
        *_given(resources or {}),
    ]
    env = installed()
    assert env is not None
    arguments += [f"--metrics-config={k}={v}" for k, v in (metrics or {}).items()]
    arguments += cache_of(env, cache_bytes) if cache_bytes else []
    server = TritonServer(env, paths[0], folder / "log", arguments)
    try:
        yield _Triton(server, folder)
    finally:
        # Every response is known by now, and an orderly end takes seconds.
        server.kill()


def cache_of(env: TritonEnv, byte_size: int) -> list[str]:
    """Return the arguments of a server with a response cache."""
    size = f"--cache-config=local,size={byte_size}"
    return [size, f"--cache-directory={env.caches}"]


def _given(resources: Mapping[str, Any]) -> Iterator[str]:
    for name, counts in resources.items():
        by_device = counts if isinstance(counts, dict) else {None: counts}
        for device, count in by_device.items():
            place = "" if device is None else f":{device}"
            yield f"--rate-limit-resource={name}:{count}{place}"


_CODES = {"INTERNAL": "Internal", "INVALID_ARG": "Invalid argument"}


def why(target: Target, folder: Path, **settings: Any) -> str:
    """Return why a server does not start, in the words with which Triton ends."""
    try:
        with elsewhere(target, folder, **settings):
            return "it runs"
    except ServerDiedError as error:
        found = re.search(r"error: creating server: (.*)\Z", str(error), re.DOTALL)
        text = found[1] if found else str(error)
    except ModelLoadError as error:
        text = f"{_CODES[error.code]} - {error.message}"
    except ValueError as error:
        text = f"Invalid argument - {error}"
    return text.strip().replace(str(folder), "<folder>")


def remove(path: Path) -> None:
    """Remove a folder."""
    shutil.rmtree(path)
    make_newest(path.parent)


def make_newest(path: Path) -> None:
    """Make a file newer than all before it.

    Triton compares the newest date of a model. A date in the future hides the bytecode
    that Python writes, which would then count at a later change.
    """
    os.utime(path, ns=(time.time_ns(),) * 2)


def unlike_before(source: str) -> str:
    """Return a source with a length of its own.

    Python takes the bytecode of another source of the same second and length.
    """
    return f"{source}\n{'#' * next(_LENGTHS)}"


_LENGTHS = itertools.count()


class Disk:
    """A folder of a case's own: the models that it writes, and a server of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.models = folder / "models"

    def put(self, name: str, answer: int = 1, **how: Any) -> None:
        """Write a model that answers with a number; as `put`."""
        put(self.models, name, answer, **how)

    def serving(
        self,
        target: Target,
        repositories: tuple[str, ...] = ("models",),
        **settings: Any,
    ) -> contextlib.AbstractContextManager[Elsewhere]:
        """Run a server of the target's kind on it; as `elsewhere`."""
        return elsewhere(target, self.folder, repositories, **settings)

    def why(self, target: Target, **settings: Any) -> str:
        """Return why such a server does not start."""
        return why(target, self.folder, **settings)
