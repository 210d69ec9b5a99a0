"""The real server as a target of the conformance cases."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import grpc
from tritonclient.grpc import service_pb2 as pb

from blsnb.parity.environment import TritonEnv
from blsnb.parity.server_process import ServerDiedError, TritonServer

from .targets import REPOSITORIES, Answer, Failure, Request, Value

T = TypeVar("T")
CALL_S = 30.0
LIVES = 6
MORTAL = ["--disable-auto-complete-config"]
"""Its models are complete, and load in a tenth of the time."""


class TritonTarget:
    """Answers of one real server, to which models are copied as cases name them."""

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

    def surviving(self, work: Callable[[], T]) -> T:
        """Return what work gives while the server lives; start it again if it dies.

        Whatever was asked for, 2.51 may end a little later.
        """
        for _ in range(LIVES):
            if not self.lives():
                self._start_again()
            try:
                found = work()
            except Exception:
                if self.lives():
                    raise
                continue
            if self.lives():
                return found
        raise ServerDiedError(f"{LIVES} times in a row")

    def _start_again(self) -> None:
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
        deadline = time.monotonic() + CALL_S * wait
        while time.monotonic() < deadline and "UNLOADING" in self._states(model):
            time.sleep(0.02)
        shutil.rmtree(self.repository / model, ignore_errors=True)
        self._loaded.pop(model, None)

    def config(self, model: str) -> str:
        """Return the configuration's JSON text, as HTTP's config endpoint gives it."""
        url = f"http://127.0.0.1:{self.server.http_port}/v2/models/{model}/config"
        with urllib.request.urlopen(url, timeout=CALL_S) as reply:
            return self.normalised(reply.read().decode())

    def infer(self, request: Request) -> Answer:
        """Send one request and wait for its answer."""
        return self.infer_together([request])[0]

    def infer_together(self, requests: Sequence[Request]) -> list[Answer]:
        """Send all requests before waiting for the first answer."""
        call = self.server.stub.ModelInfer.future
        futures = [
            call(message(request), timeout=request.deadline_s) for request in requests
        ]
        return [self._outcome(future) for future in futures]

    def apart(self, requests: Sequence[Request], *models: str) -> list[Answer]:
        """Send requests to a server of their own; where it dies, to the next one.

        2.51 may end with `boost::interprocess::lock_exception` after it has refused
        something that a model asked for.
        """

        def ask(mortal: TritonTarget, request: Request) -> Answer:
            for model in models:
                mortal.place(model)
            mortal.load(request.model)
            return mortal.infer(request)

        return [self.at_risk(partial(ask, request=each)) for each in requests]

    def at_risk(self, work: Callable[[TritonTarget], T]) -> T:
        """Return what work gives on the first server that survives it."""
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
        """Whether the server answers."""
        try:
            live = self.server.stub.ServerLive(pb.ServerLiveRequest(), timeout=CALL_S)
        except grpc.RpcError:
            return False
        return live.live

    def stream(self, request: Request, cancel_after: int = 0) -> list[Answer]:
        """Send one request on a stream of its own and collect every response."""
        answers: list[Answer] = []
        replies = self.server.stub.ModelStreamInfer(
            iter([message(request)]), timeout=request.deadline_s
        )
        try:
            for reply in replies:
                answers.append(self._streamed(reply))
                if len(answers) == cancel_after:
                    replies.cancel()
        except grpc.RpcError as error:
            answers.append(Answer(error=self._failure(error)))
        return answers

    def stream_together(self, requests: Sequence[Request]) -> list[list[Answer]]:
        """Send all requests, each on a stream of its own."""
        with ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(self.stream, requests))

    def _streamed(self, reply: pb.ModelStreamInferResponse) -> Answer:
        said = reply.infer_response.parameters.get("triton_final_response")
        final = None if said is None else said.bool_param
        if reply.error_message:
            # A stream carries the text of an error and no status code.
            failure = Failure("", self.normalised(reply.error_message))
            return Answer(error=failure, final=final)
        return replace(self._answer(reply.infer_response), final=final)

    def metrics(self) -> str:
        """Return the text of the metrics port."""
        url = f"http://127.0.0.1:{self.server.metrics_port}/metrics"
        with urllib.request.urlopen(url, timeout=CALL_S) as reply:
            return reply.read().decode()

    def normalised(self, text: str) -> str:
        """Replace this server's own paths."""
        for repository in self._repositories:
            text = text.replace(str(repository), "<repo>")
        # Its line numbers, if any, are those of a file that is not ours.
        own = re.escape(self._backends) + r"/python/(triton_python_backend_utils\.py)"
        return re.sub(own + r"(?:\(\d+\))?", r"<backend>/\1", text)

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
            return self._failure(error)
        return None

    def _states(self, model: str) -> list[str]:
        index = self.server.stub.RepositoryIndex(pb.RepositoryIndexRequest())
        return [row.state for row in index.models if row.name == model]

    def _outcome(self, future: Any) -> Answer:
        try:
            return self._answer(future.result())
        except grpc.RpcError as error:
            return Answer(error=self._failure(error))

    def _answer(self, reply: pb.ModelInferResponse) -> Answer:
        pairs = zip(reply.outputs, reply.raw_output_contents, strict=True)
        outputs = {
            output.name: Value(output.datatype, tuple(output.shape), data)
            for output, data in pairs
        }
        return Answer(outputs)

    def _failure(self, error: Any) -> Failure:
        text = self.normalised(error.details() or "")
        # gRPC's own words for one thing.
        text = text.replace("Stream removed (Deadline Exceeded)", "Deadline Exceeded")
        return Failure(error.code().name, text)


def message(request: Request) -> pb.ModelInferRequest:
    """Return a request as it goes over the wire, unchecked."""
    built = pb.ModelInferRequest(
        model_name=request.model, model_version=request.version, id=request.id
    )
    for name, value in request.inputs:
        tensor = built.inputs.add(name=name, datatype=value.datatype)
        tensor.shape.extend(value.shape)
        built.raw_input_contents.append(value.data)
    for name in request.outputs:
        built.outputs.add(name=name)
    for key, given in request.parameters.items():
        put(built.parameters[key], given)
    return built


def put(parameter: pb.InferParameter, given: bool | int | str) -> None:
    """Store a request parameter under the kind that its Python type names."""
    if isinstance(given, bool):
        parameter.bool_param = given
    elif isinstance(given, int):
        parameter.int64_param = given
    else:
        parameter.string_param = given
