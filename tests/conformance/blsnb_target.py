"""blsnb as a target of the conformance cases: the release that the real server is."""

from __future__ import annotations

import json
import platform
import re
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import blsnb.pb_utils
from blsnb.engine.request.streaming import FinalFlag
from blsnb.engine.request.validation import RequestError
from blsnb.errors import InferenceError, ModelLoadError, WouldHang
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.serving.core import requests
from blsnb.serving.core.request_rules import rules_of
from blsnb.serving.core.shared_memory import SharedMemory
from blsnb.serving.grpc.requests import request_of, version_of

from .over_grpc import message as asked_of
from .targets import PATIENCE_S, REPOSITORIES, Answer, Failure, Request, Value

T = TypeVar("T")
OWN = re.escape(str(Path(blsnb.pb_utils.__file__).parent)) + r"/\w+\.py"
LEFT = ("DEADLINE_EXCEEDED", "CANCELLED")
"""Text of the client itself after it has left."""
GRPC_CODES = {"INVALID_ARG": "INVALID_ARGUMENT", "UNSUPPORTED": "UNIMPLEMENTED"}


class BlsnbTarget:
    """A blsnb server that reads the sample models in place.

    Models that a case writes go to `repository`.
    """

    name = "blsnb"
    python = ".".join(platform.python_version_tuple()[:2])

    def __init__(self, cache_bytes: int = 0, strict: bool = False) -> None:
        self.repository = Path(tempfile.mkdtemp(prefix="blsnb-written-")).resolve()
        self.server = Server(
            model_repository=[REPOSITORIES, self.repository],
            triton_release="24.10",
            cache_bytes=cache_bytes,
            strict_model_config=strict,
        )
        self._loaded: dict[str, Failure | None] = {}

    def load(self, model: str) -> Failure | None:
        """Load a model, once."""
        if model not in self._loaded:
            self._loaded[model] = self._load(model)
        return self._loaded[model]

    def _load(self, model: str) -> Failure | None:
        try:
            self.server.load(model)
        except ModelLoadError as error:
            return self._failure(error.code, error.message)
        return None

    def unload(self, model: str, wait: bool = True) -> None:
        """Unload a model, and remove it where a case wrote it."""
        self.server.unload(model)
        shutil.rmtree(self.repository / model, ignore_errors=True)
        self._loaded.pop(model, None)

    def config(self, model: str) -> str:
        """Return the configuration's JSON text."""
        config = self.server.config(model)
        text = json.dumps(config, separators=(",", ":"), ensure_ascii=False)
        return self.normalised(text)

    def infer(self, request: Request) -> Answer:
        """Run a request with unvalidated bytes, as gRPC's client sends them."""
        try:
            message, _ = message_of(request)
            with warnings.catch_warnings():
                # The real models run in processes that know nothing of pytest.
                warnings.simplefilter("default")
                answer = parts_of(self.server).requests.answer(
                    message, deadline_ns=deadline_ns(request)
                )
        except RequestError as error:
            return Answer(error=self._failure(error.code, error.message))
        except InferenceError as error:
            return Answer(error=self._hung(error))
        return self._answer(answer.response)

    def infer_together(self, requests: Sequence[Request]) -> list[Answer]:
        """Send all requests at once."""
        with ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(self.infer, requests))

    def apart(self, requests: Sequence[Request], *models: str) -> list[Answer]:
        """Send the requests one after another: blsnb does not die of it."""
        for request in requests:
            self.load(request.model)
        return list(map(self.infer, requests))

    def at_risk(self, work: Callable[[BlsnbTarget], T]) -> T:
        """Run work that may end a real server; blsnb continues."""
        return work(self)

    def stream(self, request: Request, cancel_after: int = 0) -> list[Answer]:
        """Run a request as gRPC's stream end point would.

        Without ``triton_enable_empty_final_response`` a flag sent alone is kept
        from the client.
        """
        answers: list[Answer] = []
        try:
            message, told = message_of(request)
            reader = parts_of(self.server).readers.read(
                message, deadline_ns=deadline_ns(request)
            )
            while (response := reader.read()) is not None:
                if told or not isinstance(response, FinalFlag):
                    answers.append(self._streamed(response))
                if len(answers) == cancel_after != 0:
                    reader.cancel()
        except RequestError as error:
            answers.append(self._refused(error.message))
        except InferenceError as error:
            failure = self._hung(error)
            here = failure.code in (*LEFT, "WouldHang")
            answers.append(
                Answer(error=failure) if here else self._refused(error.message)
            )
        return answers

    def _refused(self, message: str) -> Answer:
        """Return a refusal as a stream has it: with the text alone."""
        return Answer(error=Failure("", self.normalised(message)))

    def stream_together(self, requests: Sequence[Request]) -> list[list[Answer]]:
        """Send all requests, each on a stream of its own."""
        with ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(self.stream, requests))

    def _streamed(self, response: ResponseMessage) -> Answer:
        answer = self._answer(response)
        if answer.error is not None:
            # A stream carries the text of an error and no status code.
            failure = Failure("", answer.error.text)
            answer = Answer(error=failure if failure.text else None)
        return replace(answer, final=response.final)

    def _hung(self, error: InferenceError) -> Failure:
        if isinstance(error, WouldHang):
            return Failure("WouldHang", self.normalised(error.message))
        return self._failure(error.code, error.message)

    def metrics(self) -> str:
        """Return the metrics page."""
        return self.server.metrics()

    def normalised(self, text: str) -> str:
        """Replace the path of the repository, and of our part of the Python file."""
        for repository in (REPOSITORIES, self.repository):
            text = text.replace(str(repository), "<repo>")
        theirs = "<backend>/triton_python_backend_utils.py"
        return re.sub(OWN + r"(?:\(\d+\))?", theirs, text)

    def close(self) -> None:
        """Stop the server."""
        self.server.close()
        shutil.rmtree(self.repository, ignore_errors=True)

    def _answer(self, response: ResponseMessage) -> Answer:
        if response.error is not None:
            return Answer(error=self._failure(response.code, response.error))
        outputs = {
            ref.name: Value(ref.dtype.datatype, tuple(ref.shape), bytes(ref.data))
            for ref in response.outputs
        }
        return Answer(outputs)

    def _failure(self, code: str, text: str) -> Failure:
        return Failure(GRPC_CODES.get(code, code), self.normalised(text))


def deadline_ns(request: Request) -> int:
    """Return the client's deadline; none if it waits for the whole test.

    A request without an end is `WouldHang` here, and without a deadline `infer` runs on
    the caller's thread, as for most users.
    """
    if request.deadline_s >= PATIENCE_S:
        return 0
    return time.monotonic_ns() + round(request.deadline_s * 1e9)


def message_of(request: Request) -> tuple[RequestMessage, bool]:
    """Return a request as gRPC's end point reads it, and whether it wants each flag.

    Raises
    ------
    RequestError
        The end point refuses it.
    """
    asked = asked_of(request)
    version = version_of(asked.model_version)
    read, empty_final = request_of(asked, version, SharedMemory())
    return requests.message_of(read, rules_of((24, 10))), empty_final
