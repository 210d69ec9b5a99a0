"""blsnb as a target of the conformance cases: the release that the real server is."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from blsnb.engine.engine import Answer as EngineAnswer
from blsnb.engine.validation import RequestError
from blsnb.errors import InferenceError, ModelLoadError
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.server import Server
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef

from .targets import REPOSITORIES, Answer, Failure, Request, Value

GRPC_CODES = {"INVALID_ARG": "INVALID_ARGUMENT", "UNSUPPORTED": "UNIMPLEMENTED"}


class BlsnbTarget:
    """Answers of one blsnb server that reads the sample models where they are."""

    name = "blsnb"
    python = platform.python_version()

    def __init__(self) -> None:
        self.server = Server(model_repository=REPOSITORIES, triton_release="24.10")
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

    def unload(self, model: str) -> None:
        """Unload a model."""
        self.server.unload(model)
        self._loaded.pop(model, None)

    def config(self, model: str) -> str:
        """Return the configuration's JSON text."""
        text = json.dumps(self.server.config(model), separators=(",", ":"))
        return self.normalised(text)

    def infer(self, request: Request) -> Answer:
        """Run a request whose bytes nobody checked, as gRPC's client sends them."""
        try:
            message = message_of(request)
            return self._answer(self.server._engine.infer(message))
        except (RequestError, InferenceError) as error:
            return Answer(error=self._failure(error.code, error.message))

    def infer_together(self, requests: Sequence[Request]) -> list[Answer]:
        """Send all requests at once."""
        with ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(self.infer, requests))

    def stream(self, request: Request) -> list[Answer]:
        """Not part of this release."""
        raise NotImplementedError

    def normalised(self, text: str) -> str:
        """Replace the path of the repository."""
        return text.replace(str(REPOSITORIES), "<repo>")

    def close(self) -> None:
        """Stop the server."""
        self.server.close()

    def _answer(self, answer: EngineAnswer) -> Answer:
        response: ResponseMessage = answer.response
        if response.error is not None:
            return Answer(error=self._failure(response.code, response.error))
        outputs = {
            ref.name: Value(ref.dtype.datatype, tuple(ref.shape), bytes(ref.data))
            for ref in response.outputs
        }
        return Answer(outputs)

    def _failure(self, code: str, text: str) -> Failure:
        return Failure(GRPC_CODES.get(code, code), self.normalised(text))


def message_of(request: Request) -> RequestMessage:
    """Return a request as the server's gRPC end point reads it."""
    refs = []
    for name, value in request.inputs:
        dtype = BY_DATATYPE.get(value.datatype)
        if dtype is None:
            raise RequestError(f"invalid datatype for input {name}")
        refs.append(TensorRef(name, dtype, value.shape, value.data))
    version = int(request.version) if request.version else -1
    message = RequestMessage(
        request.model,
        tuple(refs),
        tuple(dict.fromkeys(request.outputs)),
        version,
        request.id,
        parameters=dict(request.parameters),
    )
    message.raw = True
    return message
