"""Duration of a chain of three models with 64 MB, on a device and on the host."""

from __future__ import annotations

import textwrap
from statistics import median

import numpy as np

from benchmarks.row import Row
from benchmarks.servers import Servers
from blsnb import Server
from blsnb.runtimes.choosing import choose

SIZE = 64 << 20
ROUNDS = 10
NUMPY = "NumPy"
_CONFIG = """
input {{ name: "X" data_type: TYPE_FP32 dims: [ -1 ] }}
output {{ name: "Y" data_type: TYPE_{output} dims: [ -1 ] }}
instance_group {{ kind: KIND_{kind} }}
parameters {{ key: "FORCE_CPU_ONLY_INPUT_TENSORS" value {{ string_value: "{force}" }} }}
"""
_SOURCE = """
import time

import numpy as np
import triton_python_backend_utils as pb_utils
{head}

class TritonPythonModel:
    def execute(self, requests):
        tensor = requests[0].inputs()[0]
{body}
"""
_ON_HOST = 'result = pb_utils.Tensor("Y", tensor.as_numpy() * 2)'
_ON_DEVICE = """
array = xp.from_dlpack(tensor)
result = pb_utils.Tensor.from_dlpack("Y", array * 2)
"""
_WITH_COPIES = """
array = xp.asarray(tensor.as_numpy())
result = pb_utils.Tensor("Y", xp.asnumpy(array * 2))
"""
_CALLER = """
values = np.ones(int(tensor.as_numpy()[0]), np.float32)
{made}
taken = []
for _ in range(int(tensor.as_numpy()[1])):
    passed = first
    start = time.perf_counter_ns()
    for _ in range(3):
        response = pb_utils.InferenceRequest(
            model_name="double", inputs=[passed], requested_output_names=["Y"],
            trace=requests[0].trace()).exec()
        if response.has_error():
            raise pb_utils.TritonModelException(response.error().message())
        answer = response.output_tensors()[0]
        passed = {again}
    taken.append(time.perf_counter_ns() - start)
assert {last} == 8
result = pb_utils.Tensor("Y", np.array(taken, np.int64))
"""
_HOST_CALLER = _CALLER.format(
    made='first = pb_utils.Tensor("X", values)',
    again='pb_utils.Tensor("X", answer.as_numpy())',
    last="answer.as_numpy()[-1]",
)
_DEVICE_CALLER = _CALLER.format(
    made='first = pb_utils.Tensor.from_dlpack("X", xp.asarray(values))',
    again='pb_utils.Tensor.from_dlpack("X", answer)',
    last="float(xp.asnumpy(xp.from_dlpack(answer)[-1:])[0])",
)


def run(servers: Servers) -> list[Row]:
    """Measure if there is a device; else print the reason."""
    try:
        chosen = choose("cupy")
    except ValueError as error:
        print(f"  skipped: {error}")
        return []
    print(f"  {chosen.runtime.describe()}")
    return rows("cupy", "cupy", SIZE, ROUNDS)


def rows(runtime: str, library: str, size: int, rounds: int) -> list[Row]:
    """Measure the chain on the host, on a device, and with copies between both.

    Parameters
    ----------
    library
        Name of the module of device arrays.
    """
    host = _chain("numpy", "", _ON_HOST, _HOST_CALLER, size, rounds)
    on_device = _chain(runtime, library, _ON_DEVICE, _DEVICE_CALLER, size, rounds)
    copied = _chain(runtime, library, _WITH_COPIES, _HOST_CALLER, size, rounds)
    what = f"three models, {size >> 20} MB"
    return [
        Row(f"{what}, NumPy", host, "µs"),
        Row(f"{what}, {library}, on the device", on_device, "µs", host, NUMPY),
        Row(f"{what}, {library}, with copies to the host", copied, "µs", host, NUMPY),
    ]


def _chain(
    runtime: str, library: str, body: str, caller: str, size: int, rounds: int
) -> float:
    """Return the median duration of a chain in µs, without its first round."""
    kind, force = ("GPU", "no") if library else ("CPU", "yes")
    head = f"import {library} as xp" if library else ""
    with Server(runtime=runtime, trace_level="timestamps") as server:
        for name, lines, output in (
            ("double", body, "FP32"),
            ("chain", caller, "INT64"),
        ):
            config = _CONFIG.format(kind=kind, force=force, output=output)
            lines = textwrap.indent(f"{lines}\nreturn [{_ANSWER}]", " " * 8)
            server.define(name, _SOURCE.format(head=head, body=lines), config=config)
        counts = np.array([size // 4, rounds + 1], np.float32)
        taken = server.infer("chain", {"X": counts})["Y"]
    return median(taken[1:].tolist()) / 1000


_ANSWER = "pb_utils.InferenceResponse([result])"
