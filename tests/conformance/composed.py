"""Ensembles that a case writes, with models whose ``execute`` are a few lines."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import textwrap
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from model.ensembles import IO, model

from blsnb.parts.server_parts import parts_of

from .asking import tensor
from .blsnb_target import deadline_ns, message_of
from .counting import settled
from .over_grpc import message
from .scripted import write
from .targets import Answer, Failure, Request, Target, Value
from .triton_target import CALL_S

SOURCE = """
import json
import os
import threading

import numpy as np
import triton_python_backend_utils as pb_utils

FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
NOTES = {notes!r}


def x_of(request, name="X"):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return None if tensor is None else tensor.as_numpy()


def reply(**arrays):
    arrays = {{name: np.asarray(array) for name, array in arrays.items()}}
    return pb_utils.InferenceResponse(
        [pb_utils.Tensor(name, array) for name, array in arrays.items()])


def failure(text, code="INTERNAL"):
    code = getattr(pb_utils.TritonError, code)
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(text, code))


def pause(seconds=0.1):
    # The server does what follows from what was sent.
    threading.Event().wait(seconds)


def wait_for(name):
    for _ in range(50_000):
        if os.path.exists(os.path.join(NOTES, name)):
            return
        threading.Event().wait(0.002)


class TritonPythonModel:
    def note(self, request):
        inputs = {{}}
        for tensor in request.inputs():
            array = tensor.as_numpy()
            inputs[tensor.name()] = [str(array.dtype), list(array.shape)]
        seen = [
            request.request_id(), request.correlation_id(), request.flags(),
            request.timeout(), json.loads(request.parameters() or "{{}}"),
            sorted(request.requested_output_names()), inputs]
        with open(os.path.join(NOTES, "calls"), "a") as file:
            file.write(json.dumps([{name!r}, seen]) + chr(10))

    def execute(self, requests):
        answers = [self.answer(request) for request in requests]
        return None if None in answers else answers

    def answer(self, request):
        self.note(request)
{lines}
"""
ADD = "return reply(Y=x_of(request) + 1)"
DOUBLE = "return reply(Y=x_of(request) * 2)"
BATCHES = "max_batch_size: 4"


class Written(NamedTuple):
    """A model of a case: its code and its configuration."""

    lines: str
    config: str = model(IO)


class Cast:
    """Models and ensembles, written into the repository of a target.

    Parameters
    ----------
    models
        A model, or the configuration of an ensemble, by name. The ensembles are
        loaded, the models come with them.
    alone
        Models that are loaded, too.
    """

    def __init__(
        self, target: Target, models: Mapping[str, Written | str], *alone: str
    ) -> None:
        self.target = target
        self.notes = Path(tempfile.mkdtemp(prefix="blsnb-cast-"))
        self._names = list(models)
        for name, each in models.items():
            self.write(name, each)
        self.loaded: dict[str, Failure] = {}
        for name in (*(n for n in models if isinstance(models[n], str)), *alone):
            failure = target.load(name)
            if failure is not None:
                self.loaded[name] = failure

    def write(self, name: str, each: Written | str) -> None:
        """Write a model, or write it anew."""
        if isinstance(each, str):
            write(self.target, name, each)
            return
        lines = textwrap.indent(textwrap.dedent(each.lines).strip(), " " * 8)
        source = SOURCE.format(notes=str(self.notes), name=name, lines=lines)
        write(self.target, name, each.config, source)

    def __enter__(self) -> Cast:
        return self

    def __exit__(self, *_: object) -> None:
        for name in reversed(self._names):
            # The real server keeps some forever after an error in a stream.
            self.target.unload(name, wait=False)
        shutil.rmtree(self.notes)

    def calls(self) -> list[Any]:
        """Return and clear the recorded calls of a model."""
        path = self.notes / "calls"
        if not path.exists():
            return []
        lines = path.read_text().splitlines()
        path.unlink()
        return [json.loads(line) for line in lines]

    def called(self) -> list[str]:
        """Return the names of the models that were called, sorted; forget them."""
        return sorted(name for name, _ in self.calls())

    def counted(self, name: str) -> list[Any]:
        """Return the statistics, and the failures in the metrics, once they settle."""
        return settled(lambda: self._counts(name))

    def _counts(self, name: str) -> list[Any]:
        row = self._statistics(name)
        counts = {key: each["count"] for key, each in row["inference_stats"].items()}
        head = f'nv_inference_request_failure{{model="{name}",'
        failures = {
            match[1]: float(match[2])
            for line in self.target.metrics().splitlines()
            if line.startswith(head)
            and (match := re.search(r'reason="(\w+)".* (\S+)$', line))
        }
        whole = [row["inference_count"], row["execution_count"]]
        return [whole, counts, failures, len(row["batch_stats"])]

    def took(self, name: str, phase: str) -> int:
        """Return the nanoseconds of all requests of a model."""
        return self._statistics(name)["inference_stats"][phase]["ns"]

    def _statistics(self, name: str) -> Any:
        if self.target.name == "blsnb":
            found = self.target.server.statistics(name)  # type: ignore[attr-defined]
        else:
            port = self.target.server.http_port  # type: ignore[attr-defined]
            url = f"http://127.0.0.1:{port}/v2/models/{name}/stats"
            with urllib.request.urlopen(url, timeout=CALL_S) as answer:
                found = json.load(answer)
        (row,) = found["model_stats"]
        return row

    def go(self, name: str) -> None:
        """Release requests that wait for a name."""
        (self.notes / name).touch()

    def ask(
        self, name: str, *outputs: str, give: Mapping[str, Value] = {}, **fields: Any
    ) -> Answer:
        """Send a request and return its response."""
        return self.target.infer(self.request(name, outputs, give, fields))

    def stream(
        self, name: str, *outputs: str, give: Mapping[str, Value] = {}, **fields: Any
    ) -> list[Answer]:
        """Send a request on a stream, and return all responses."""
        return self.target.stream(self.request(name, outputs, give, fields))

    def request(
        self,
        name: str,
        outputs: tuple[str, ...],
        give: Mapping[str, Value],
        fields: Mapping[str, Any],
    ) -> Request:
        """Return a request; without inputs given it has X, two numbers."""
        given = dict(give) or {"X": tensor([1, 2])}
        fields = dict(fields)
        own = {key: fields.pop(key) for key in ("id", "deadline_s") if key in fields}
        return Request(name, list(given.items()), outputs, parameters=fields, **own)

    def parameters(self, request: Request) -> dict[str, Any]:
        """Return the parameters of the response to a request."""
        if self.target.name == "blsnb":
            requests = parts_of(self.target.server).requests  # type: ignore[attr-defined]
            given = requests.answer(
                message_of(request)[0], deadline_ns=deadline_ns(request)
            )
            return dict(given.response.parameters)
        stub = self.target.server.stub  # type: ignore[attr-defined]
        reply = stub.ModelInfer(message(request), timeout=request.deadline_s)
        return {
            name: getattr(value, value.WhichOneof("parameter_choice"))
            for name, value in sorted(reply.parameters.items())
        }
