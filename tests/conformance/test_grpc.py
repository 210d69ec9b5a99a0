"""tritonclient's flows over gRPC, against Triton and against a served notebook."""

from __future__ import annotations

import asyncio
import os
import queue
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as client_of
import tritonclient.grpc.aio as aio_client_of
import tritonclient.utils.shared_memory as shm

from .served import grpc_address
from .served_models import connected, given, load

WAIT_S = 60.0


def values(result: Any, name: str = "Y") -> list[Any]:
    """Return an output as a JSON value."""
    return result.as_numpy(name).tolist()


def callback_arguments(result: Any, error: Any) -> list[Any]:
    """Return the arguments of a callback."""
    if error is not None:
        return ["error", str(error)]
    response = result.get_response()
    parameters = {k: v.bool_param for k, v in response.parameters.items()}
    outputs = values(result) if response.outputs else None
    return [response.id, outputs, parameters]


def stream(
    client: Any, expected: int, *requests: dict[str, Any], **options: Any
) -> list[Any]:
    """Send requests on a stream, and wait for a number of responses."""
    replies: queue.Queue[list[Any]] = queue.Queue()
    client.start_stream(
        lambda result, error: replies.put(callback_arguments(result, error))
    )
    for request in requests:
        client.async_stream_infer(**{"inputs": given(1), **request}, **options)
    answers = [replies.get(timeout=WAIT_S) for _ in range(expected)]
    client.stop_stream()
    assert replies.empty()
    return answers


def test_a_request_is_answered(agree, beside):
    """Synchronously, with an id and only the requested outputs."""

    def case(target):
        with connected(beside(target), "same") as client:
            wanted = [client_of.InferRequestedOutput("Y")]
            result = client.infer(
                "net_same", given(1, 2), outputs=wanted, request_id="7"
            )
            response = result.get_response()
            return [values(result), response.id, response.model_version]

    agree(case)


def test_requests_are_answered_by_callback(agree, beside):
    """Each with its own response, in any order."""

    def case(target):
        with connected(beside(target), "same") as client:
            waiting = []
            for number in range(4):
                told: queue.Queue[Any] = queue.Queue()
                client.async_infer(
                    "net_same",
                    given(number),
                    lambda result, error, told=told: told.put((result, error)),
                )
                waiting.append(told)
            return [callback_arguments(*told.get(timeout=WAIT_S)) for told in waiting]

    agree(case)


def test_coroutines_are_answered(agree, beside):
    """Concurrent calls and streams are supported."""

    async def ask(address):
        async with aio_client_of.InferenceServerClient(address) as client:
            asked = [client.infer("net_same", given(n)) for n in range(3)]
            answers = [values(each) for each in await asyncio.gather(*asked)]

            async def requests():
                for number in range(2):
                    yield {"model_name": "net_same", "inputs": given(number)}

            async for result, error in client.stream_infer(requests()):
                answers.append(callback_arguments(result, error))
            return answers

    def case(target):
        load(beside(target), "same")
        return asyncio.run(ask(grpc_address(beside(target))))

    agree(case)


def test_a_stream_answers_in_order(agree, beside):
    """A model that responds once to each request; some take longer."""

    def case(target):
        with connected(beside(target), "slow") as client:
            asked = [
                {"model_name": "net_slow", "inputs": given(s), "request_id": str(s)}
                for s in (0.2, 0.0, 0.05)
            ]
            return stream(client, 3, *asked)

    agree(case)


@pytest.mark.parametrize("flag", [True, False], ids=["asked for", "not asked for"])
def test_a_decoupled_stream_has_final_flags(agree, beside, flag):
    """A final flag without outputs only if the client requests it."""

    def case(target):
        with connected(beside(target), "each") as client:
            return stream(
                client,
                3 + flag,
                {"model_name": "net_each", "inputs": given(1, -2, 3)},
                request_id="d",
                enable_empty_final_response=flag,
            )

    agree(case)


def test_no_response_is_only_a_flag(agree, beside):
    """A decoupled model sends no response."""

    def case(target):
        with connected(beside(target), "each") as client:
            asked = {"model_name": "net_each", "inputs": given()}
            return stream(client, 1, asked, enable_empty_final_response=True)

    agree(case)


def test_a_stream_goes_on_after_a_refusal(agree, beside):
    """The error is in its place among the responses."""

    def case(target):
        with connected(beside(target), "same") as client:
            asked = ("net_same", "nope", "net_same")
            return stream(client, 3, *({"model_name": name} for name in asked))

    agree(case)


def test_sequences_interleave_on_a_stream(agree, beside):
    """The requests of each arrive in their order."""

    def case(target):
        asked = [
            {
                "model_name": "net_sum",
                "request_id": f"{sequence} {step}",
                "sequence_id": sequence,
                "sequence_start": step == 0,
                "sequence_end": step == 4,
            }
            for step in range(5)
            for sequence in (11, "twelve")
        ]
        with connected(beside(target), "sum") as client:
            return stream(client, 10, *asked)

    agree(case)


def test_texts_are_bytes(agree, beside):
    """Empty strings and invalid UTF-8 are valid elements."""

    def case(target):
        with connected(beside(target), "same_string") as client:
            tensor = client_of.InferInput("X", [4], "BYTES")
            texts = np.array([b"a", b"", "é".encode(), b"\xff"], np.object_)
            tensor.set_data_from_numpy(texts)
            result = client.infer("net_same_string", [tensor])
            return [each.hex() for each in values(result)]

    agree(case)


def test_bf16_travels(agree, beside):
    """It has the client's form, since NumPy has no such type."""
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16

    def case(target):
        with connected(beside(target), "bf16") as client:
            tensor = client_of.InferInput("X", [3], "BF16")
            tensor.set_data_from_numpy(np.array([1, 1.1, -3e38], bfloat16))
            return [float(x) for x in client.infer("net_bf16", [tensor]).as_numpy("Y")]

    agree(case)


def test_shared_memory_takes_inputs_and_outputs(agree, beside):
    """A region holds both; the status lists it."""

    def case(target):
        key = f"/blsnb_{os.getpid()}_{target.name}"
        region = shm.create_shared_memory_region("net", key, 32)
        try:
            shm.set_shared_memory_region(region, [np.array([3, 4], np.float32)])
            with connected(beside(target), "same") as client:
                client.unregister_system_shared_memory("net")
                client.register_system_shared_memory("net", key, 32)
                tensor = client_of.InferInput("X", [2], "FP32")
                tensor.set_shared_memory("net", 8)
                wanted = client_of.InferRequestedOutput("Y")
                wanted.set_shared_memory("net", 8, offset=16)
                result = client.infer("net_same", [tensor], outputs=[wanted])
                written = shm.get_contents_as_numpy(region, np.float32, [8])[4:6]
                there = client.get_system_shared_memory_status(as_json=True)
                there = {k: v["byte_size"] for k, v in there["regions"].items()}
                answer = [written.tolist(), there, len(result.get_response().outputs)]
                client.unregister_system_shared_memory("net")
                gone = client.get_system_shared_memory_status(as_json=True)
                return [*answer, gone]
        finally:
            shm.destroy_shared_memory_region(region)

    agree(case)


def test_the_largest_elements_are_classes(agree, beside):
    """Labels come from a file, for each row of a batch, and through an ensemble."""

    def case(target):
        with connected(beside(target), "same", "batched", "ensemble") as client:
            wanted = [client_of.InferRequestedOutput("Y", class_count=2)]
            one = client.infer("net_same", given(3, 1, 2), outputs=wanted)
            whole = client.infer("net_ensemble", given(1, 2, 3), outputs=wanted)
            batch = client_of.InferInput("X", [2, 2], "FP32")
            batch.set_data_from_numpy(np.array([[1, 2], [4, 3]], np.float32))
            two = client.infer("net_batched", [batch], outputs=wanted)
            return [
                [t.decode() for t in r.as_numpy("Y").ravel()] for r in (one, two, whole)
            ]

    agree(case)


def test_a_client_that_leaves_is_told_so(agree, beside):
    """It leaves at its deadline, or cancels."""

    def case(target):
        with connected(beside(target), "slow") as client:
            try:
                client.infer("net_slow", given(5), client_timeout=0.1)
            except client_of.InferenceServerException as error:
                late = [error.status(), error.message()]
            told: queue.Queue[Any] = queue.Queue()
            context = client.async_infer(
                "net_slow", given(5), lambda result, error: told.put(error)
            )
            context.cancel()
            return [late, str(told.get(timeout=WAIT_S))]

    agree(case)
