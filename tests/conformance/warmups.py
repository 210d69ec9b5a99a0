"""Models for the cases of warm-up, which record their samples."""

from __future__ import annotations

import json
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from blsnb.parity.triton.server_process import ServerDiedError

from .elsewhere import Elsewhere, elsewhere
from .targets import Failure, Target

HEAD = """
import json
import threading
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        self.name = args["model_instance_name"]
        self.path = args["model_repository"] + "/seen"
        self.count = 0
        self.random = {}
        self.write("initialize")

    def finalize(self):
        self.write("finalize")

    def write(self, what):
        with open(self.path, "a") as out:
            out.write(json.dumps([self.name, what]) + "\\n")

    def content(self, tensor):
        array = tensor.as_numpy()
        if not self.name.startswith("random"):
            return str(array.tolist())
        # Which bytes is by chance; that they stay the same is not.
        return self.random.setdefault(array.tobytes(), len(self.random))

    def told(self, request):
        inputs = [
            (each.name(), str(each.as_numpy().dtype), each.as_numpy().shape)
            + (self.content(each),)
            for each in request.inputs()
        ]
        numbers = [request.correlation_id(), request.flags(), request.timeout()]
        return [
            request.request_id(), *numbers, request.parameters(),
            sorted(request.requested_output_names()), sorted(inputs),
        ]

    def execute(self, requests):
        self.count += 1
        self.write([self.told(request) for request in requests])
"""
ANSWER = "return [pb_utils.InferenceResponse([]) for _ in requests]"
DECOUPLED = "model_transaction_policy { decoupled: true }"
BATCHING = "max_batch_size: 4"
LIVES = 8
"""Maximum number of servers that may die of the same models."""
AT_ONCE = 6
"""Number of models that are loaded at the same time."""


@dataclass(frozen=True, slots=True)
class Warmed:
    """A model with samples.

    Parameters
    ----------
    samples
        Texts of `sample`.
    execute
        The last lines of the model's ``execute``.
    """

    samples: tuple[str, ...]
    execute: str = ANSWER
    more: str = ""
    inputs: str = "X:FP32[3]"
    outputs: str = "Y:FP32[1]"
    files: dict[str, bytes] = field(default_factory=dict)
    source: str = ""

    def put(self, folder: Path) -> None:
        """Write it."""
        (folder / "1").mkdir(parents=True)
        lines = textwrap.indent(textwrap.dedent(self.execute).strip(), " " * 8)
        (folder / "1" / "model.py").write_text(self.source or HEAD + lines)
        tensors = [_tensor("input", each) for each in self.inputs.split()]
        tensors += [_tensor("output", each) for each in self.outputs.split()]
        config = "\n".join(['backend: "python"', self.more, *tensors, *self.samples])
        (folder / "config.pbtxt").write_text(config)
        for name, content in self.files.items():
            (folder / "warmup").mkdir(exist_ok=True)
            (folder / "warmup" / name).write_bytes(content)


def sample(batch: str = "batch_size: 1", name: str = "w", /, **inputs: str) -> str:
    """Return a ``model_warmup``; an input is written ``FP32[3] zero``, or a file."""
    given = "".join(
        f'inputs {{ key: "{key}" value {{ {_given(text)} }} }}'
        for key, text in inputs.items()
    )
    return f'model_warmup {{ name: "{name}" {batch} {given} }}'


def _given(text: str) -> str:
    kind, _, source = text.partition(" ")
    data_type, dims = _typed(kind)
    said = {
        "": "",
        "zero": "zero_data: true",
        "no zero": "zero_data: false",
        "random": "random_data: true",
        "no random": "random_data: false",
    }.get(source, f'input_data_file: "{source}"')
    return f"{data_type} {dims} {said}"


def _tensor(side: str, text: str) -> str:
    name, _, kind = text.partition(":")
    data_type, dims = _typed(kind)
    optional = "optional: true" if name.endswith("?") else ""
    return f'{side} {{ name: "{name.rstrip("?")}" {data_type} {dims} {optional} }}'


def _typed(kind: str) -> tuple[str, str]:
    name, _, dims = kind.partition("[")
    data_type = f"data_type: TYPE_{name}" if name else ""
    return data_type, f"dims: [ {dims.rstrip(']')} ]" if dims else ""


def loaded(
    target: Target, folder: Path, models: dict[str, Warmed], *, apart: bool = False
) -> dict[str, Any]:
    """Load models; return the results, and the records of each.

    Parameters
    ----------
    apart
        Whether each on a server of its own, which may die of it.

    Raises
    ------
    ServerDiedError
        It died too often.
    """
    if not apart:
        return _survived(target, folder, models)
    names = {name: folder / name for name in models}
    for own in names.values():
        own.mkdir()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(
            lambda name: _survived(target, names[name], {name: models[name]}), names
        )
        return {name: answer for each in found for name, answer in each.items()}


def _survived(
    target: Target, folder: Path, models: dict[str, Warmed]
) -> dict[str, Any]:
    """Load models together, again on another server where one has died."""
    answers: dict[str, Any] = {}
    for life in range(LIVES):
        left = {name: each for name, each in models.items() if name not in answers}
        if not left:
            break
        place = folder / f"life{life}"
        place.mkdir()
        for name, each in left.items():
            each.put(place / "models" / name)
        with elsewhere(target, place) as server:
            answers |= _loaded(server, place / "models", left)
    if dead := models.keys() - answers:
        raise ServerDiedError(f"{LIVES} times; it has not told of {sorted(dead)}")
    return {name: answers[name] for name in models}


def _loaded(server: Elsewhere, models: Path, left: dict[str, Warmed]) -> dict[str, Any]:
    def ask(name: str) -> Any:
        try:
            answer = server.load(name)
            if answer is not None and answer.code == "UNAVAILABLE":
                return None
            return outcome(server, models, name, answer)
        except (OSError, grpc.RpcError):
            # It died a little later.
            return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(left, pool.map(ask, left), strict=True))
    return {name: each for name, each in found.items() if each is not None}


def outcome(
    server: Elsewhere, models: Path, name: str, answer: Failure | None
) -> dict[str, Any]:
    """Return the result of the load of a model."""
    seen = models / name / "seen"
    lines = seen.read_text().splitlines() if seen.exists() else []
    # Instances start in any order.
    lines.sort(key=lambda line: json.loads(line)[0])
    rows = [row for row in server.index() if row["name"] == name]
    counted = server.counted(name) if answer is None else []
    return {
        "answer": answer,
        "seen": [json.loads(line) for line in lines],
        "index": rows,
        "counted": counted,
    }
