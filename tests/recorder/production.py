"""A real server with the recorder: its models are in the shape of NVIDIA's examples."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tritonclient.grpc import InferenceServerClient, InferInput

from blsnb.command.program import main
from blsnb.parity.triton.environment import TritonEnv
from blsnb.parity.triton.server_process import TritonServer

HEAD = """\
import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import triton_python_backend_utils as pb_utils


def request(model, value, **more):
    return pb_utils.InferenceRequest(
        model_name=model,
        requested_output_names=["Y"],
        inputs=[pb_utils.Tensor("X", value)],
        **more,
    )


def answer(value):
    return pb_utils.InferenceResponse([pb_utils.Tensor("Y", value)])


def value_of(carrier):
    tensors = getattr(carrier, "inputs", None) or carrier.output_tensors
    return tensors()[0].as_numpy()


class TritonPythonModel:
"""

COMPLETE = ["--disable-auto-complete-config"]
"""Arguments of a server whose models have complete configurations.

A model loads in half the time: without a process that only completes them.
"""
BODIES = {
    "double": """\
        def execute(self, requests):
            for each in requests:
                if value_of(each)[0] < 0:
                    raise ValueError("negative")
            return [answer(value_of(each) * 2) for each in requests]
    """,
    "sync": """\
        def execute(self, requests):
            found = []
            for each in requests:
                first = request("double", value_of(each), request_id="first").exec()
                if first.has_error():
                    found.append(pb_utils.InferenceResponse(error=first.error()))
                    continue
                second = request("double", value_of(first)).exec()
                found.append(answer(value_of(second)))
            return found
    """,
    "gathers": """\
        async def execute(self, requests):
            found = []
            for each in requests:
                calls = [request("double", value_of(each) + n) for n in range(3)]
                done = await asyncio.gather(*[call.async_exec() for call in calls])
                found.append(answer(sum(value_of(one) for one in done)))
            return found
    """,
    "counts": """\
        def execute(self, requests):
            for each in requests:
                sender = each.get_response_sender()
                work = sender, value_of(each)
                threading.Thread(target=self.send, args=work).start()

        def send(self, sender, value):
            for n in range(int(value[0])):
                sender.send(answer(value + n))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    """,
    "streams": """\
        def execute(self, requests):
            found = []
            for each in requests:
                responses = request("counts", value_of(each)).exec(decoupled=True)
                values = [value_of(one) for one in responses if one.output_tensors()]
                found.append(answer(sum(values)))
            return found
    """,
    "threads": """\
        def initialize(self, args):
            self.pool = ThreadPoolExecutor(2)

        def execute(self, requests):
            found = []
            for each in requests:
                value = value_of(each)
                work = [self.pool.submit(self.call, value + n) for n in range(3)]
                own = []
                thread = threading.Thread(target=lambda: own.append(self.call(value)))
                thread.start()
                thread.join()
                found.append(answer(own[0] + sum(one.result() for one in work)))
            return found

        def call(self, value):
            return value_of(request("double", value).exec())
    """,
    "late": """\
        def execute(self, requests):
            for each in requests:
                work = each.get_response_sender(), value_of(each)
                threading.Thread(target=self.work, args=work).start()

        def work(self, sender, value):
            done = request("double", value).exec()
            sender.send(answer(value_of(done)), 1)
    """,
}
DECOUPLED = ("counts", "late")
ENSEMBLE = """\
name: "both"
platform: "ensemble"
input [{name: "X" data_type: TYPE_FP32 dims: [-1]}]
output [{name: "Y" data_type: TYPE_FP32 dims: [-1]}]
ensemble_scheduling {
  step [
    {model_name: "sync" model_version: -1
     input_map {key: "X" value: "X"} output_map {key: "Y" value: "M"}},
    {model_name: "gathers" model_version: -1
     input_map {key: "X" value: "M"} output_map {key: "Y" value: "Y"}}
  ]
}
"""
BATCHED = "max_batch_size: 4\ndynamic_batching {max_queue_delay_microseconds: 300000}\n"


def source_of(body: str) -> str:
    """Return the ``model.py`` of a body."""
    return HEAD + textwrap.indent(textwrap.dedent(body), "    ")


def write_models(folder: Path, bodies: Mapping[str, str] = BODIES) -> Path:
    """Write a repository of the models, and return it."""
    for name, body in bodies.items():
        write_model(folder, name, source_of(body))
    return folder


def write_model(folder: Path, name: str, source: str, more: str = "") -> None:
    """Write a model with an input X and an output Y."""
    (folder / name / "1").mkdir(parents=True)
    (folder / name / "1" / "model.py").write_text(source)
    decoupled = "model_transaction_policy {decoupled: true}\n"
    text = (
        'backend: "python"\n'
        'input [{name: "X" data_type: TYPE_FP32 dims: [-1]}]\n'
        'output [{name: "Y" data_type: TYPE_FP32 dims: [-1]}]\n'
        "instance_group [{count: 1 kind: KIND_CPU}]\n"
        f"{decoupled if name in DECOUPLED else ''}{more}"
    )
    (folder / name / "config.pbtxt").write_text(text)


def write_ensemble(folder: Path) -> None:
    """Write the ensemble of two of the models."""
    (folder / "both" / "1").mkdir(parents=True)
    (folder / "both" / "config.pbtxt").write_text(ENSEMBLE)


def own_environment(env: TritonEnv, folder: Path) -> TritonEnv:
    """Return the installation with an environment of its own for the models."""
    import subprocess

    subprocess.run([env.python, "-m", "venv", "--without-pip", folder], check=True)
    packages = next((Path(env.python).parents[1] / "lib").glob("python3*"))
    own = folder / "lib" / packages.name / "site-packages"
    (own / "shared.pth").write_text(f"{packages / 'site-packages'}\n")
    return replace(env, python=str(folder / "bin" / "python3"))


def install(env: TritonEnv) -> None:
    """Install the recorder as a user does."""
    assert 0 == main(["recorder", "install", "--python", env.python])


class Production:
    """A real server and its client."""

    def __init__(self, server: TritonServer) -> None:
        self.server = server
        self.client = InferenceServerClient(f"127.0.0.1:{server.grpc_port}")

    def infer(self, model: str, *values: float, id: str = "", rows: int = 0) -> Any:
        """Return the output of a request."""
        array = np.array(values, np.float32)
        if rows:
            array = array.reshape(rows, -1)
        given = InferInput("X", array.shape, "FP32")
        given.set_data_from_numpy(array)
        return self.client.infer(model, [given], request_id=id).as_numpy("Y")


@contextmanager
def serving(
    env: TritonEnv,
    repository: Path,
    log: Path,
    models: Sequence[str] = ("*",),
    flags: Sequence[str] = (),
) -> Iterator[Production]:
    """Run a real server; its recordings are complete once it has stopped."""
    loads = [f"--load-model={name}" for name in models]
    server = TritonServer(env, repository, log, [*flags, *loads])
    try:
        production = Production(server)
        yield production
        production.client.close()
    finally:
        server.close()
