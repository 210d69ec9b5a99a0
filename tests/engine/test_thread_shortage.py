"""A process that cannot start a thread: one request fails, and says why."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from attacks import Figures
from cells import CONFIG, DOUBLE, OWN_THREAD, calling, cell, instances
from shortage import no_thread_starts, one_thread_fails

from blsnb import Server
from blsnb.errors import InferenceError, ModelLoadError
from blsnb.parts.server_parts import parts_of

X = {"X": np.array([1, 2], np.float32)}
TEXT = "no thread can be started (can't start new thread)"
DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
BATCHING = (
    'max_batch_size: 8\ninput { name: "X" data_type: TYPE_FP32 dims: [ 2 ] }\n'
    'output { name: "Y" data_type: TYPE_FP32 dims: [ 2 ] }\n'
    "dynamic_batching { max_queue_delay_microseconds: 1000 }\n"
)
ASYNC = cell(
    """
    asked = [ask("double", request).async_exec() for _ in range(2)]
    first, second = await asyncio.gather(*asked)
    return [reply(answer_of(first) + answer_of(second))]
    """,
    asynchronous=True,
)
STREAM = cell(
    """
    sender = request.get_response_sender()
    for _ in range(2):
        sender.send(reply(x_of(request)))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    """
)
READS = cell(
    """
    found = list(ask("stream", request).exec(decoupled=True))
    return [reply(sum(answer_of(each) for each in found[:2]))]
    """
)
BATCHED = cell("return [reply(x_of(request) * 2) for request in requests]")
READY = cell(
    "return [reply(x_of(request))]", methods="def is_ready(self):\n    return True\n\n"
)
STEP = """
  step {{ model_name: "double" model_version: -1
         input_map {{ key: "X" value: "X" }} output_map {{ key: "Y" value: "{0}" }} }}
"""
ENSEMBLE = (
    'platform: "ensemble"\ninput { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }\n'
    'output { name: "A" data_type: TYPE_FP32 dims: [ -1 ] }\n'
    'output { name: "B" data_type: TYPE_FP32 dims: [ -1 ] }\n'
    f"ensemble_scheduling {{ {STEP.format('A')} {STEP.format('B')} }}\n"
)
MODELS = {
    "double": (DOUBLE, instances(2)),
    "own": (DOUBLE, OWN_THREAD),
    "async": (ASYNC, CONFIG),
    "stream": (STREAM, DECOUPLED),
    "reads": (READS, CONFIG),
    "calls_async": (calling("async"), CONFIG),
    "batched": (BATCHED, BATCHING),
    "ready": (READY, CONFIG),
    "ensemble": (None, ENSEMBLE),
}


def define(server: Server, name: str) -> list[Any]:
    """Define a model, unless it serves."""
    if name not in parts_of(server).engine.catalog.names():
        source, config = MODELS[name]
        server.define(name, source, config=config)
    return []


def infer(server: Server, name: str, output: str = "Y", **more: Any) -> list[Any]:
    """Return a model's response."""
    found: list[Any] = server.infer(name, X, **more)[output].tolist()
    return found


def stream(server: Server) -> list[Any]:
    """Return a decoupled model's responses."""
    answers = server.stream("stream", X)
    return [each["Y"].tolist() for each in answers if each.outputs]


def together(server: Server) -> list[Any]:
    """Return a batching model's responses to concurrent clients."""
    found: dict[int, Any] = {}
    batch = {"X": np.array([[1, 2]], np.float32)}
    both = threading.Barrier(2)

    def ask(number: int) -> None:
        both.wait(60)
        try:
            found[number] = server.infer("batched", batch)["Y"].tolist()
        except InferenceError as error:
            found[number] = error

    clients = [
        threading.Thread(target=ask, args=(n,), name=f"test {n}") for n in range(2)
    ]
    for each in clients:
        each.start()
    for each in clients:
        each.join(60)
        assert not each.is_alive()
    for each in found.values():
        if isinstance(each, InferenceError):
            raise each
    return [found[0], found[1]]


def ready(server: Server) -> list[Any]:
    """Return whether a model is ready."""
    if reason := parts_of(server).engine.catalog.find("ready", -1).not_ready_reason():
        raise InferenceError(reason)
    return [True]


ACTIONS: list[tuple[Callable[[Server], list[Any]], list[Any]]] = [
    *((lambda server, name=name: define(server, name), []) for name in MODELS),
    (lambda server: infer(server, "double"), [2, 4]),
    (lambda server: infer(server, "double", client_timeout_s=60), [2, 4]),
    (lambda server: infer(server, "own"), [2, 4]),
    (lambda server: infer(server, "async"), [4, 8]),
    (lambda server: infer(server, "calls_async"), [4, 8]),
    (stream, [[1, 2], [1, 2]]),
    (lambda server: infer(server, "reads"), [2, 4]),
    (lambda server: infer(server, "ensemble", "A"), [2, 4]),
    (together, [[[2, 4]], [[2, 4]]]),
    (ready, [True]),
]


def is_clear(error: Exception) -> bool:
    """Whether an error names the missing resource."""
    words = (TEXT, "unknown model", "is not available", "model not found")
    return any(each in str(error) for each in words)


def play(server: Server) -> int:
    """Do everything; return how many steps failed, each with a clear error."""
    failures = 0
    for action, expected in ACTIONS:
        try:
            assert expected == action(server)
        except (InferenceError, ModelLoadError) as error:
            if not is_clear(error):
                raise
            failures += 1
    return failures


def names() -> list[str]:
    """Return the names of the threads that are alive."""
    return sorted(thread.name for thread in threading.enumerate())


def test_every_thread_may_fail_to_start(figures: Figures) -> None:
    """The affected request fails with the reason; others and a retry work."""
    before = names()
    for number in itertools.count(1):
        server = Server()
        try:
            with one_thread_fails(number) as starts:
                play(server)
            assert 0 == play(server)
        finally:
            began = time.monotonic()
            server.close()
        assert time.monotonic() - began < 50
        assert before == names()
        if not starts.failed:
            break
    assert number > 5
    figures(threads_that_failed_to_start=number - 1)


def test_a_server_that_has_no_thread_left_goes_on() -> None:
    """Requests on the caller's thread complete; others name the missing resource."""
    with Server() as server:
        for name in MODELS:
            define(server, name)
        with no_thread_starts():
            play(server)
            assert [2, 4] == infer(server, "double")
            assert [2, 4] == infer(server, "ensemble", "B")
            assert [[[2, 4]], [[2, 4]]] == together(server)
        assert 0 == play(server)


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("stream", stream),
        ("double", lambda server: infer(server, "double", client_timeout_s=60)),
    ],
    ids=["stream", "deadline"],
)
def test_a_refused_request_has_a_code_and_a_record(
    server: Server, name: str, ask: Callable[[Server], list[Any]]
) -> None:
    """Its run has ended, and names the missing resource."""
    define(server, name)
    with no_thread_starts(), pytest.raises(InferenceError) as failed:
        ask(server)

    (record,) = parts_of(server).recorder.runs
    assert "RESOURCE_EXHAUSTED" == failed.value.code
    assert failed.value.message.startswith(TEXT)
    assert [TEXT] == [call.error[: len(TEXT)] for call in record.calls]
    assert record.ended


def test_an_awaited_request_is_refused_alike(server: Server) -> None:
    """The event loop continues, and the next request completes."""
    define(server, "double")

    async def ask() -> list[Any]:
        with no_thread_starts(), pytest.raises(InferenceError) as failed:
            await server.async_infer("double", X)
        assert "RESOURCE_EXHAUSTED" == failed.value.code
        found: list[Any] = (await server.async_infer("double", X))["Y"].tolist()
        return found

    assert [2, 4] == asyncio.run(ask())


def test_clients_of_a_benchmark_end_with_the_one_that_cannot_start(
    server: Server,
) -> None:
    """No client continues until the duration has passed."""
    define(server, "double")
    began = time.monotonic()

    with one_thread_fails(3), pytest.raises(InferenceError, match="no thread"):
        server.bench("double", X, concurrency=[8], duration_s=100, warm_up_requests=0)

    assert time.monotonic() - began < 50
    assert "blsnb bench" not in names()


def test_a_watch_that_could_not_start_can_be_started_again(server: Server) -> None:
    """The model is not listed as watched in between."""
    define(server, "double")
    with no_thread_starts(), pytest.raises(InferenceError, match="no thread"):
        server.watch("double")
    assert [] == server.watched

    server.watch("double")
    assert ["double"] == server.watched
    assert "blsnb watch" in names()
