"""Models that behave differently on blsnb and on a real server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from blsnb.inference_server import Server

HEAD = """
import os
import sys
import time

import numpy as np
import triton_python_backend_utils as pb_utils

REAL = "blsnb" not in sys.modules


def x_of(request):
    return pb_utils.get_input_tensor_by_name(request, "X").as_numpy()


def reply(*arrays):
    tensors = [pb_utils.Tensor(name, array) for name, array in zip("YZ", arrays)]
    return pb_utils.InferenceResponse(tensors)


class TritonPythonModel:
    def execute(self, requests):
        [request] = requests
        x = x_of(request)
"""
CONFIG = """
backend: "python"
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
"""
DECOUPLED = f"{CONFIG} model_transaction_policy {{ decoupled: true }}"
SINE = "return [reply(np.sin(x))]"
OUTER = """
call = pb_utils.InferenceRequest(
    model_name="sine", requested_output_names=["Y"],
    inputs=[pb_utils.Tensor("X", x)], trace=request.trace())
y = pb_utils.get_output_tensor_by_name(call.exec(), "Y").as_numpy()
if x.size == 1:
    raise ValueError(f"one of {len(x)}")
if x.size == 2:
    error = pb_utils.TritonError("two", pb_utils.TritonError.NOT_FOUND)
    return [pb_utils.InferenceResponse(error=error)]
if x.size == 3:
    y = y + np.float32([0, 0.25, 0]) * REAL
if x.size == 4:
    y = np.float64(y) if REAL else y
if x.size == 5:
    y = y[:-1] if REAL else y
if x.size == 6:
    raise ValueError("real" if REAL else "ours")
if x.size == 7 and REAL:
    raise ValueError("alone")
return [reply(y)]
"""
STREAM = """
sender = request.get_response_sender()
numbers = [0, 1, 2]
if x[0] == 1 and REAL:
    numbers = [0, 2, 1]
if x[0] == 2 and REAL:
    numbers = [0, 1]
for number in numbers:
    sender.send(reply(np.float32([number])))
if x[0] == 3:
    sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("three")))
if x[0] == 4:
    return
sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
SLOW = """
if REAL:
    time.sleep(float(x[0]))
return [reply(x)]
"""
DEADLY = """
if REAL:
    os.kill(os.getppid(), 9)
    time.sleep(9)
return [reply(x)]
"""
SOURCES: Mapping[str, tuple[str, str]] = {
    "sine": (SINE, CONFIG),
    "outer": (OUTER, CONFIG),
    "stream": (STREAM, DECOUPLED),
    "slow": (SLOW, CONFIG),
}


def source(execute: str) -> str:
    """Return a model with these lines in ``execute``."""
    lines = execute.strip().splitlines()
    return HEAD + "".join(f"        {line}\n" for line in lines)


def define(server: Server) -> None:
    """Define all models."""
    for name, (execute, config) in SOURCES.items():
        server.define(name, source(execute), config=config)


def write(folder: Path) -> None:
    """Write all models as a repository."""
    for name, (execute, config) in SOURCES.items():
        (folder / name / "1").mkdir(parents=True)
        (folder / name / "1" / "model.py").write_text(source(execute))
        (folder / name / "config.pbtxt").write_text(config)
