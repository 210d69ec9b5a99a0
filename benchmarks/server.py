"""Servers that run the models of the benchmarks: blsnb and Triton."""

from __future__ import annotations

from typing import Protocol

import numpy as np

import blsnb
from benchmarks.repository import Repository
from blsnb.parity.triton.environment import TritonEnv
from blsnb.parity.triton.server_process import TritonServer as TritonProcess
from tests.conformance.targets import Request, Value
from tests.conformance.triton_target import MORTAL, TritonTarget

TIMEOUT_S = 300.0


class BenchmarkedServer(Protocol):
    """A server with models that measure something in their ``execute``."""

    def infer(self, model: str, **inputs: int | str) -> dict[str, np.ndarray]:
        """Return the outputs of a model for numbers and names as inputs."""

    def close(self) -> None:
        """Stop the server."""


class BlsnbServer:
    """A blsnb server at a trace level."""

    def __init__(self, repository: Repository, trace_level: str) -> None:
        self.server = blsnb.Server(
            model_repository=repository.folder,
            startup_models="*",
            trace_level=trace_level,
        )

    def infer(self, model: str, **inputs: int | str) -> dict[str, np.ndarray]:
        """Return the outputs of a model for numbers and names as inputs."""
        run = self.server.infer(model, {name: [it] for name, it in inputs.items()})
        return run.outputs

    def close(self) -> None:
        """Stop the server."""
        self.server.close()


class TritonServer:
    """A real server without completion of configurations."""

    def __init__(self, repository: Repository, env: TritonEnv) -> None:
        self._target = TritonTarget(env, MORTAL)
        self._repository = repository
        self.version = self._target.server.version()

    def infer(self, model: str, **inputs: int | str) -> dict[str, np.ndarray]:
        """Return the outputs of a model for numbers and names as inputs."""
        for needed in self._repository.needed(model, inputs):
            self.load(needed)
        values = [(name, _value(it)) for name, it in inputs.items()]
        outcome = self._target.infer(Request(model, values, deadline_s=TIMEOUT_S))
        if outcome.error is not None:
            raise RuntimeError(f"the real server failed: {outcome.error}")
        return {
            name: np.frombuffer(value.data, np.int64)
            for name, value in outcome.outputs.items()
        }

    @property
    def process(self) -> TritonProcess:
        """The process of the server."""
        return self._target.server

    def load(self, model: str) -> None:
        """Load a model of the repository."""
        failure = self._target.load(model, self._repository.folder / model)
        if failure is not None:
            raise RuntimeError(f"the real server cannot load {model}: {failure}")

    def close(self) -> None:
        """Stop the server."""
        self._target.close()


def _value(given: int | str) -> Value:
    """Return a number or a name as an input tensor."""
    if isinstance(given, int):
        return Value("INT64", (1,), np.int64(given).tobytes())
    text = given.encode()
    return Value("BYTES", (1,), len(text).to_bytes(4, "little") + text)
