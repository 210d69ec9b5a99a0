"""tritonclient's flows over HTTP, against Triton and against a served notebook."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.http as client_of
import tritonclient.http.aio as aio_client_of
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException, serialize_byte_tensor

from .over_http import End
from .targets import Target

Agree = Callable[..., None]
Served = Callable[[Target], End]
A = np.array([1, 2, 3, 4], np.float32)
B = np.array([4, 3, 2, 1], np.float32)
COUNTING = """
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def initialize(self, args):
        self.sums = {}
    def execute(self, requests):
        return [self.answer(request) for request in requests]
    def answer(self, request):
        values = {each.name(): each.as_numpy().item() for each in request.inputs()}
        which = request.correlation_id()
        if values["START"]:
            self.sums[which] = 0
        self.sums[which] = self.sums.get(which, 0) + values["X"]
        y = pb_utils.Tensor("Y", np.array([[self.sums[which]]], np.int32))
        return pb_utils.InferenceResponse([y])
"""
SEQUENCES = """
backend: "python"
max_batch_size: 4
input { name: "X" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "Y" data_type: TYPE_INT32 dims: [ 1 ] }
sequence_batching {
  max_sequence_idle_microseconds: 60000000
  control_input {
    name: "START"
    control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] }
  }
}
instance_group { kind: KIND_CPU }
"""


@contextlib.contextmanager
def connected(end: End) -> Iterator[Any]:
    """A client of an end point."""
    client = client_of.InferenceServerClient(f"127.0.0.1:{end.port}", concurrency=4)
    try:
        yield client
    finally:
        client.close()


def inputs(*, binary: bool = True, module: Any = client_of) -> list[Any]:
    """Return the inputs of the model that adds."""
    found = []
    for name, array in (("A", A), ("B", B)):
        tensor = module.InferInput(name, [4], "FP32")
        tensor.set_data_from_numpy(array, binary_data=binary)
        found.append(tensor)
    return found


def values(result: Any, *names: str) -> list[Any]:
    """Return outputs as JSON values."""
    found = [result.as_numpy(name) for name in names or ("SUM", "DIFFERENCE")]
    return [None if each is None else each.tolist() for each in found]


def trial(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or its error."""
    try:
        return call()
    except InferenceServerException as error:
        return [error.status(), error.message()]


def test_infer(agree: Agree, served: Served) -> None:
    """Binary and in JSON, in both directions."""

    def case(target: Target) -> list[Any]:
        with connected(served(target).have("add")) as client:
            said = []
            for into, out in (
                (True, True),
                (True, False),
                (False, True),
                (False, False),
            ):
                wanted = [client_of.InferRequestedOutput("SUM", binary_data=out)]
                given = inputs(binary=into)
                result = client.infer("add", given, outputs=wanted, request_id="q")
                said.append([values(result), result.get_response()])
            result = client.infer("add", inputs(), model_version="1")
            return [*said, values(result), result.get_response()]

    agree(case)


def test_what_goes_with_a_request(agree: Agree, served: Served) -> None:
    """Id, parameters, priority, timeout, and compressed bodies."""

    def case(target: Target) -> list[Any]:
        with connected(served(target).have("echo")) as client:
            tensor = client_of.InferInput("INT8", [1, 2], "INT8")
            tensor.set_data_from_numpy(np.array([[1, -1]], np.int8))
            result = client.infer(
                "echo",
                [tensor],
                request_id="q",
                parameters={"a": 1, "b": "x", "c": True},
                priority=2,
                timeout=7,
                sequence_id=9,
                sequence_start=True,
                request_compression_algorithm="gzip",
                response_compression_algorithm="deflate",
            )
            report = json.loads(result.as_numpy("REPORT")[0])
            return [report, values(result, "INT8")]

    agree(case)


def test_strings(agree: Agree, served: Served) -> None:
    """Any bytes; over JSON only texts."""

    def case(target: Target) -> list[Any]:
        with connected(served(target).have("texts")) as client:
            said = []
            for texts, binary in (
                ([b"a\xff", b""], True),
                (["é".encode(), b"x\n"], False),
            ):
                tensor = client_of.InferInput("X", [2], "BYTES")
                tensor.set_data_from_numpy(np.array(texts, object), binary_data=binary)
                found = client.infer("texts", [tensor]).as_numpy("X")
                said.append([each.hex() for each in found])
            return said

    agree(case)


def test_classes(agree: Agree, served: Served) -> None:
    """The largest elements, as texts."""

    def case(target: Target) -> list[Any]:
        with connected(served(target).have("add")) as client:
            wanted = client_of.InferRequestedOutput("SUM", class_count=2)
            result = client.infer("add", inputs(), outputs=[wanted])
            return [each.decode() for each in result.as_numpy("SUM")]

    agree(case)


def test_async_infer(agree: Agree, served: Served) -> None:
    """Several requests at once, each with its own response."""

    def case(target: Target) -> list[Any]:
        with connected(served(target).have("add")) as client:
            asked = [
                client.async_infer("add", inputs(), request_id=str(number))
                for number in range(4)
            ]
            found = [each.get_result() for each in asked]
            bad = client.async_infer("add", inputs()[:1])
            said = [[each.get_response()["id"], values(each)] for each in found]
            return [*said, trial(bad.get_result)]

    agree(case)


def test_the_client_for_asyncio(agree: Agree, served: Served) -> None:
    """The same with coroutines."""

    async def concurrent(end: End) -> list[Any]:
        address = f"127.0.0.1:{end.port}"
        async with aio_client_of.InferenceServerClient(address) as client:
            given = inputs(module=aio_client_of)
            results = await asyncio.gather(
                *(client.infer("add", given, request_id=str(n)) for n in range(3))
            )
            said = [[each.get_response()["id"], values(each)] for each in results]
            ready = await client.is_model_ready("add")
            about = await client.get_server_metadata()
            return [*said, ready, await client.is_server_live(), about]

    agree(lambda target: asyncio.run(concurrent(served(target).have("add"))))


def test_sequences(agree: Agree, served: Served) -> None:
    """Two sequences, one with a number and one with a text as id."""

    def ask(client: Any, which: int | str, value: int, **flags: bool) -> Any:
        tensor = client_of.InferInput("X", [1, 1], "INT32")
        tensor.set_data_from_numpy(np.array([[value]], np.int32))
        found = client.infer("sums", [tensor], sequence_id=which, **flags)
        return values(found, "Y")

    def case(target: Target) -> list[Any]:
        end = served(target)
        end.write("sums", SEQUENCES, COUNTING)
        with connected(end) as client:
            return [
                ask(client, 7, 1, sequence_start=True),
                ask(client, 7, 2),
                ask(client, "text", 10, sequence_start=True),
                ask(client, 7, 3, sequence_end=True),
                ask(client, "text", 5, sequence_end=True),
                trial(lambda: ask(client, 7, 1)),
                trial(lambda: ask(client, 0, 1)),
            ]

    agree(case)


def test_shared_memory(agree: Agree, served: Served) -> None:
    """Inputs and outputs in regions, numbers and texts."""

    def case(target: Target) -> list[Any]:
        end = served(target).have("add", "texts")
        memory = shm.create_shared_memory_region("region", f"/{end.key}", 4096)
        try:
            with connected(end) as client:
                client.register_system_shared_memory("region", f"/{end.key}", 4096)
                found = [*_added(client, memory), *_echoed(client, memory)]
                client.unregister_system_shared_memory("region")
                return [*found, client.get_system_shared_memory_status()]
        finally:
            shm.destroy_shared_memory_region(memory)

    agree(case)


def _shared(name: str, shape: list[int], datatype: str, size: int, offset: int) -> Any:
    tensor = client_of.InferInput(name, shape, datatype)
    tensor.set_shared_memory("region", size, offset=offset)
    return tensor


def _added(client: Any, memory: Any) -> list[Any]:
    shm.set_shared_memory_region(memory, [A, B])
    given = [_shared("A", [4], "FP32", 16, 0), _shared("B", [4], "FP32", 16, 16)]
    wanted = client_of.InferRequestedOutput("SUM", binary_data=False)
    wanted.set_shared_memory("region", 16, offset=64)
    other = client_of.InferRequestedOutput("DIFFERENCE")
    result = client.infer("add", given, outputs=[wanted, other])
    there = shm.get_contents_as_numpy(memory, np.float32, [4], offset=64).tolist()
    small = client_of.InferRequestedOutput("SUM", binary_data=False)
    small.set_shared_memory("region", 8, offset=64)
    outside = [_shared("A", [4], "FP32", 16, 4090), given[1]]
    return [
        result.get_response(),
        there,
        trial(lambda: client.infer("add", given, outputs=[small])),
        trial(lambda: client.infer("add", outside)),
    ]


def _echoed(client: Any, memory: Any) -> list[Any]:
    texts = serialize_byte_tensor(np.array([b"ab", b"c"], object))
    shm.set_shared_memory_region(memory, [texts])
    size = len(texts.item())
    wanted = client_of.InferRequestedOutput("X", binary_data=False)
    wanted.set_shared_memory("region", 64, offset=128)
    given = _shared("X", [2], "BYTES", size, 0)
    result = client.infer("texts", [given], outputs=[wanted])
    found = shm.get_contents_as_numpy(memory, np.object_, [2], offset=128)
    return [result.get_response(), [each.decode() for each in found]]


def test_model_control(agree: Agree, served: Served) -> None:
    """Loaded, loaded with another configuration, unloaded."""

    def case(target: Target) -> list[Any]:
        end = served(target)
        end.place("flexible")
        with connected(end) as client:
            client.load_model("flexible")
            said = [client.is_model_ready("flexible")]
            config = client.get_model_config("flexible")
            config["input"][0]["dims"] = [2, 3]
            client.load_model("flexible", config=json.dumps(config))
            said.append(client.get_model_metadata("flexible"))
            client.unload_model("flexible")
            end.forget("flexible")
            said.append(client.is_model_ready("flexible"))
            said.append(trial(lambda: client.get_model_metadata("flexible")))
            said.append(trial(lambda: client.load_model("nope")))
            return said

    agree(case)


def test_what_is_wrong(agree: Agree, served: Served) -> None:
    """Status and text of the client's exception agree."""

    def case(target: Target) -> list[Any]:
        end = served(target).have("add", "script_decoupled")
        with connected(end) as client:
            code = client_of.InferInput("CODE", [1], "BYTES")
            code.set_data_from_numpy(np.array([b"pass"], object))
            short = inputs()
            short[0].set_shape([2])
            return [
                trial(lambda: client.infer("nope", inputs())),
                trial(lambda: client.infer("add", inputs(), model_version="7")),
                trial(lambda: client.infer("add", inputs()[:1])),
                trial(lambda: client.infer("add", short)),
                trial(lambda: client.infer("script_decoupled", [code])),
                trial(lambda: client.get_inference_statistics("nope")),
                trial(lambda: client.get_system_shared_memory_status("nope")),
                trial(
                    lambda: client.update_trace_settings(settings={"trace_rate": "x"})
                ),
                trial(lambda: client.update_log_settings({"log_format": "x"})),
            ]

    agree(case)


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_large_tensors(agree: Agree, served: Served, algorithm: str) -> None:
    """Half a megabyte, plain and compressed."""
    array = np.arange(1 << 16, dtype=np.float64).reshape(1, -1)

    def case(target: Target) -> list[Any]:
        with connected(served(target).have("echo")) as client:
            tensor = client_of.InferInput("FP64", list(array.shape), "FP64")
            tensor.set_data_from_numpy(array)
            wanted = [client_of.InferRequestedOutput("FP64")]
            plain = client.infer("echo", [tensor], outputs=wanted)
            packed = client.infer(
                "echo",
                [tensor],
                outputs=wanted,
                request_compression_algorithm=algorithm,
                response_compression_algorithm=algorithm,
            )
            found = [each.as_numpy("FP64") for each in (plain, packed)]
            return [bool((each == array).all()) for each in found]

    agree(case)
