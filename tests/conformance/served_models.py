"""Models for clients of a network, written into a target's repository."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import tritonclient.grpc as client_of

from .scripted import write
from .served import Line, grpc_address
from .targets import Target

_HEAD = """
import json
import time

import numpy as np
import triton_python_backend_utils as pb_utils


def x_of(request):
    return pb_utils.get_input_tensor_by_name(request, "X")


def reply(array):
    return pb_utils.InferenceResponse([pb_utils.Tensor("Y", array)])


class TritonPythonModel:
"""
_SAME = """
    def execute(self, requests):
        return [reply(x_of(request).as_numpy()) for request in requests]
"""
_PASSED_ON = """
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse(
                [pb_utils.Tensor.from_dlpack("Y", x_of(request).to_dlpack())]
            )
            for request in requests
        ]
"""
_REPEATED = """
    def execute(self, requests):
        return [self.twice(x_of(request).as_numpy()) for request in requests]

    def twice(self, x):
        arrays = x, np.ones((1, 3), np.int32), x[:1].astype(np.float64)
        tensors = [pb_utils.Tensor("Y", array) for array in arrays]
        return pb_utils.InferenceResponse(tensors)
"""
_TOLD = """
    def execute(self, requests):
        return [reply(self.told(request)) for request in requests]

    def told(self, request):
        said = [
            json.loads(request.parameters()),
            request.request_id(),
            request.correlation_id(),
            request.flags(),
            request.timeout(),
        ]
        return np.array([json.dumps(said).encode()], np.object_)
"""
_EACH = """
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            x = x_of(request).as_numpy()
            for value in x:
                if value < 0:
                    error = pb_utils.TritonError(f"no {value:g}")
                    sender.send(pb_utils.InferenceResponse(error=error))
                else:
                    sender.send(reply(np.array([value], np.float32)))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
_SUM = """
    def initialize(self, args):
        self.sums = {}

    def execute(self, requests):
        return [reply(self.added(request)) for request in requests]

    def added(self, request):
        key = request.correlation_id()
        before = 0 if request.flags() & 1 else self.sums.get(key, 1000)
        self.sums[key] = before + float(x_of(request).as_numpy().sum())
        return np.array([self.sums[key]], np.float32)
"""
_SLOW = """
    def execute(self, requests):
        for request in requests:
            until = time.monotonic() + float(x_of(request).as_numpy().max())
            while time.monotonic() < until and not request.is_cancelled():
                time.sleep(0.002)
        return [reply(x_of(request).as_numpy()) for request in requests]
"""
DECOUPLED = "model_transaction_policy { decoupled: true }"
SEQUENCES = "sequence_batching { }"
CLASSES = 'label_filename: "names"'
BATCHES = "max_batch_size: 4"
TWO = "instance_group { kind: KIND_CPU count: 2 }"
_BODIES = {
    "same": (_SAME, "FP32", "FP32", CLASSES, ""),
    "batched": (_SAME, "FP32", "FP32", CLASSES, BATCHES),
    "repeated": (_REPEATED, "FP32", "FP32", CLASSES, ""),
    "told": (_TOLD, "FP32", "STRING", "", ""),
    "each": (_EACH, "FP32", "FP32", "", DECOUPLED),
    "sum": (_SUM, "FP32", "FP32", "", SEQUENCES),
    "slow": (_SLOW, "FP32", "FP32", "", TWO),
    "counted": (_SAME, "FP32", "FP32", "", ""),
    "described": (_SAME, "FP32", "FP32", CLASSES, BATCHES),
    "bf16": (_PASSED_ON, "BF16", "BF16", "", ""),
}


_ENSEMBLE = """
platform: "ensemble"
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
ensemble_scheduling {
  step {
    model_name: "net_same"
    model_version: -1
    input_map { key: "X" value: "X" }
    output_map { key: "Y" value: "Y" }
  }
}
"""


def source(name: str) -> str:
    """Return the source of a model."""
    return _HEAD + _BODIES.get(name, (_SAME,))[0]


def config(name: str) -> str:
    """Return the configuration of a model; of an unknown one by its datatype."""
    if name == "ensemble":
        return _ENSEMBLE
    same = name.removeprefix("same_").upper()
    _, given, sent, of_output, more = _BODIES.get(name, ("", same, same, "", ""))
    return (
        f'backend: "python" {more}\n'
        f'input {{ name: "X" data_type: TYPE_{given} dims: [ -1 ] }}\n'
        f'output {{ name: "Y" data_type: TYPE_{sent} dims: [ -1 ] {of_output} }}\n'
    )


def load(target: Target, *names: str) -> None:
    """Write models and load them, once."""
    for name in names:
        # Each kind of target has one, of which the protocol does not speak.
        folder = target.repository / f"net_{name}"  # type: ignore[attr-defined]
        if not folder.exists():
            files = {"names": b"ant\r\n\nbee"}
            code = None if name == "ensemble" else source(name)
            write(target, f"net_{name}", config(name), code, files)
            failure = target.load(f"net_{name}")
            assert failure is None, failure


def line(target: Target, *models: str) -> Line:
    """Return a connection to a target that serves these models."""
    load(target, *models)
    return Line(target)


@contextlib.contextmanager
def connected(target: Target, *models: str) -> Iterator[Any]:
    """A client of tritonclient's, connected to a target that serves these models."""
    load(target, *models)
    with client_of.InferenceServerClient(grpc_address(target)) as client:
        yield client


def given(*values: float) -> list[Any]:
    """Return the input X as an argument of tritonclient."""
    tensor = client_of.InferInput("X", [len(values)], "FP32")
    tensor.set_data_from_numpy(np.array(values, np.float32))
    return [tensor]
