"""Side: a server that runs the models of the benchmarks, ours or the real one."""

from __future__ import annotations

from typing import Protocol

import numpy as np

import blsnb
from benchmarks.repository import Repository
from blsnb.parity.triton.environment import TritonEnv
from tests.conformance.targets import Request, Value
from tests.conformance.triton_target import MORTAL, TritonTarget

PATIENCE_S = 300.0


class Side(Protocol):
    """Asks models that measure something from the inside."""

    def ask(self, model: str, **inputs: int | str) -> dict[str, np.ndarray]:
        """Return the answer of a model to numbers and names."""

    def close(self) -> None:
        """Stop it."""


class Ours:
    """A server of ours at a trace level."""

    def __init__(self, repository: Repository, trace_level: str) -> None:
        self.server = blsnb.Server(
            model_repository=repository.folder,
            startup_models="*",
            trace_level=trace_level,
        )

    def ask(self, model: str, **inputs: int | str) -> dict[str, np.ndarray]:
        """Return the answer of a model to numbers and names."""
        run = self.server.infer(model, {name: [it] for name, it in inputs.items()})
        return run.outputs

    def close(self) -> None:
        """Stop it."""
        self.server.close()


class Real:
    """A real server; its models are complete, and need no completion at load."""

    def __init__(self, repository: Repository, env: TritonEnv) -> None:
        self._target = TritonTarget(env, MORTAL)
        self._repository = repository
        self.version = self._target.server.version()

    def ask(self, model: str, **inputs: int | str) -> dict[str, np.ndarray]:
        """Return the answer of a model to numbers and names."""
        for needed in self._repository.needed(model, inputs):
            self._load(needed)
        values = [(name, _value(it)) for name, it in inputs.items()]
        answer = self._target.infer(Request(model, values, deadline_s=PATIENCE_S))
        if answer.error is not None:
            raise RuntimeError(f"the real server failed: {answer.error}")
        return {
            name: np.frombuffer(value.data, np.int64)
            for name, value in answer.outputs.items()
        }

    def _load(self, model: str) -> None:
        failure = self._target.load(model, self._repository.folder / model)
        if failure is not None:
            raise RuntimeError(f"the real server cannot load {model}: {failure}")

    def close(self) -> None:
        """Stop it."""
        self._target.close()


def _value(given: int | str) -> Value:
    """Return a number or a name as a tensor on the wire."""
    if isinstance(given, int):
        return Value("INT64", (1,), np.int64(given).tobytes())
    text = given.encode()
    return Value("BYTES", (1,), len(text).to_bytes(4, "little") + text)
