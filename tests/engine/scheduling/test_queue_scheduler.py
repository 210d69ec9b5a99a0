"""Requests of a batching model leave together, as threads and clients see it."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np
import pytest
import stage
from asserting import every
from cells import HEAD, cell
from waiting import until

from blsnb import InferenceError, Run, Server, WouldHang
from blsnb.engine.scheduling import queue_scheduler

from ..clients import FAN_OUT, SUMS, batching, waiting, x

THREADS = cell(
    """
    stage.seen.append(threading.current_thread())
    if len(stage.seen) == 1:
        stage.events["go"].wait(60)
    elif x_of(request).item() > 90:
        stage.sleep()
    stage.values["context"].append(stage.values["variable"].get())
    return [reply(x_of(each) * 2) for each in requests]
    """
)
VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="")
BUSY = {"X": np.array([[-1]], np.float32)}
PLAIN = """
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
"""


def row_of(server: Server) -> dict[str, Any]:
    """Return the statistics of the batching model."""
    (row,) = server.statistics("sums")["model_stats"]
    return row


def test_calls_of_one_execute_are_batched(server):
    """Four concurrent calls are one ``execute`` of their model."""
    server.define(
        "sums", SUMS, config=batching("max_queue_delay_microseconds: 5000000")
    )
    server.define("fan_out", FAN_OUT, config=batching(size=1).split("dynamic")[0])

    run = server.infer("fan_out", x(1))

    assert [[2.0], [4.0], [6.0], [8.0]] == run["Y"].tolist()
    assert [4] == stage.seen
    children = run.trace.spans[1:]
    assert [(4, 1)] * 4 == [
        (child.batch, len({other.execution for other in children}))
        for child in children
    ]
    row = row_of(server)
    assert (4, 1) == (row["inference_count"], row["execution_count"])


def test_clients_are_batched(server, clients):
    """Requests that wait for the busy instance run together; each gets its response."""
    server.define("sums", SUMS, config=batching())
    busy = clients.busy()
    answers = [clients.ask(number) for number in range(3)]
    stage.events["go"].set()

    assert [0.0, 2.0, 4.0] == [answer.result(60)["Y"].item() for answer in answers]
    assert [[-2.0]] == busy.result(60)["Y"].tolist()
    assert [1, 3] == stage.seen


def test_a_correct_batched_run_has_no_notes(server, clients):
    """Neither the run nor its calls have notes."""
    own = 'parameters { key: "BLSNB_THREAD" value { string_value: "instance" } }'
    server.define("sums", SUMS, config=batching() + own)
    busy = clients.busy()
    answers = [clients.ask(number) for number in range(3)]
    stage.events["go"].set()
    runs = [answer.result(60) for answer in (busy, *answers)]

    assert [1, 3, 3, 3] == [run.trace.spans[0].batch for run in runs]
    assert [[]] * 4 == [run.notes for run in runs]
    assert [()] * 4 == [run.trace.spans[0].notes for run in runs]


def test_async_clients_are_batched(server):
    """The batch is as large as possible."""
    server.define(
        "sums", SUMS, config=batching("max_queue_delay_microseconds: 5000000")
    )

    async def main() -> list[Run]:
        asks = [server.async_infer("sums", x(number)) for number in range(4)]
        return list(await asyncio.gather(*asks))

    runs = asyncio.run(main())

    assert [0.0, 2.0, 4.0, 6.0] == [run["Y"].item() for run in runs]
    assert [4] == stage.seen


def test_a_lone_request_leaves_when_its_delay_is_over(server):
    """No other event occurs."""
    server.define("sums", SUMS, config=batching("max_queue_delay_microseconds: 20000"))

    assert [[6.0]] == server.infer("sums", x(3))["Y"].tolist()


def test_a_failure_is_that_of_every_request_in_the_batch(server, clients):
    """Triton fails all of them, too."""
    server.define("sums", SUMS, config=batching())
    clients.busy()
    answers = [clients.ask(number) for number in (91, 1)]
    stage.events["go"].set()

    errors = [answer.exception(60) for answer in answers]

    assert every("ValueError: too large" in str(error) for error in errors)
    assert 2 == row_of(server)["inference_stats"]["fail"]["count"]


def test_a_full_queue_refuses(server, clients):
    """The request fails at once with Triton's text and is not counted."""
    policy = "default_queue_policy { max_queue_size: 1 }"
    server.define("sums", SUMS, config=batching(policy))
    clients.busy()
    waits = clients.ask(1)

    with pytest.raises(InferenceError) as raised:
        server.infer("sums", x(2), request_id="late")

    assert "[request id: late] Exceeds maximum queue size" == raised.value.message
    assert "UNAVAILABLE" == raised.value.code
    stage.events["go"].set()
    assert [[2.0]] == waits.result(60)["Y"].tolist()
    assert 0 == row_of(server)["inference_stats"]["fail"]["count"]


def test_a_request_that_waits_too_long_is_rejected(server, clients):
    """It never reaches the model, and counts as a failure with its reason."""
    policy = "default_queue_policy { default_timeout_microseconds: 1000 }"
    server.define("sums", SUMS, config=batching(policy))
    clients.busy()

    error = clients.ask(1).exception(60)

    assert isinstance(error, InferenceError)
    assert ("Request timeout expired", "UNAVAILABLE") == (error.message, error.code)
    stage.events["go"].set()
    assert [1] == stage.seen
    assert 1 == row_of(server)["inference_stats"]["fail"]["count"]
    assert (
        'nv_inference_request_failure{model="sums",reason="REJECTED",version="1"} 1'
        in server.metrics()
    )


def test_a_request_that_finds_an_idle_instance_never_expires(server, monkeypatch):
    """Arrival and decision have the same time, however slow the host is."""
    times = count(time.monotonic_ns(), 2_000_000)
    monkeypatch.setattr(queue_scheduler.CLOCK, "now_ns", lambda: next(times))
    policy = "default_queue_policy { default_timeout_microseconds: 1000 }"
    server.define("sums", SUMS, config=batching(policy))

    assert [[2.0]] == server.infer("sums", x(1))["Y"].tolist()


def test_priorities_decide_the_order(server, clients):
    """Level 1 precedes level 2; a level keeps the order of arrival."""
    levels = "priority_levels: 2 default_priority_level: 2"
    server.define(
        "sums",
        SUMS.replace("len(requests)", "x_of(request).item()"),
        config=batching(levels, size=1),
    )
    clients.busy()
    answers = [clients.ask(n, priority=p) for n, p in ((1, 2), (2, 0), (3, 1))]
    stage.events["go"].set()
    for answer in answers:
        answer.result(60)

    assert [-1.0, 3.0, 1.0, 2.0] == stage.seen


def test_responses_keep_their_order_with_preserve_ordering(server):
    """The second request completes first, and waits for the first response."""
    server.define(
        "sums",
        SUMS,
        config=batching("preserve_ordering: true")
        + "instance_group { kind: KIND_CPU count: 2 }",
    )
    ended: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(server.infer, "sums", BUSY)
        assert stage.events["busy"].wait(60)
        quick = pool.submit(server.infer, "sums", x(1))
        slow.add_done_callback(lambda _: ended.append("slow"))
        quick.add_done_callback(lambda _: ended.append("quick"))
        while len(stage.seen) < 2:
            pass
        assert [] == ended
        stage.events["go"].set()
        quick.result(60)
        slow.result(60)

    assert ["slow", "quick"] == ended


def test_an_unloaded_model_completes_waiting_requests(server, clients):
    """New requests are refused."""
    server.define("sums", SUMS, config=batching())
    busy = clients.busy()
    waits = clients.ask(1)
    server.unload("sums")

    with pytest.raises(InferenceError, match="has no available versions"):
        server.infer("sums", x(2))
    stage.events["go"].set()

    assert [[2.0]] == waits.result(60)["Y"].tolist()
    assert [[-2.0]] == busy.result(60)["Y"].tolist()


def test_a_call_to_oneself_is_a_deadlock_behind_a_batcher_too(server):
    """The only instance waits for it."""
    source = cell('return [reply(answer_of(ask("me", request).exec()))]')
    server.define("me", source, config=batching())

    with pytest.raises(WouldHang, match="every instance of model 'me'"):
        server.infer("me", x(1))


def test_ctrl_c_takes_a_waiting_request_out_of_the_queue(server, clients, ctrl_c):
    """The other requests complete."""
    server.define("sums", SUMS, config=batching())
    busy = clients.busy()
    other = clients.ask(1)
    ctrl_c.expect(lambda: server.infer("sums", x(2)), event="busy")
    stage.events["go"].set()

    assert [[2.0]] == other.result(60)["Y"].tolist()
    assert [[-2.0]] == busy.result(60)["Y"].tolist()
    assert [1, 1] == stage.seen


def test_ctrl_c_in_a_batch_of_several_clients_leaves_the_others_alone(
    server, clients, ctrl_c
):
    """Only the interrupted client gets no response."""
    source = SUMS.replace("if x_of(request).flat[0] < 0:", "if len(requests) == 2:")
    server.define(
        "sums",
        source,
        config=batching("max_queue_delay_microseconds: 10000000", size=2),
    )
    other = clients.ask(1)
    ctrl_c.expect(lambda: server.infer("sums", x(2)), event="busy")
    stage.events["go"].set()

    assert [[2.0]] == other.result(60)["Y"].tolist()


def test_a_debugger_works_in_the_batch_of_one_client(server):
    """``execute`` runs on the caller's own thread."""
    source = f"{HEAD}class TritonPythonModel:\n" + (
        "    def execute(self, requests):\n"
        "        stage.seen.append(threading.current_thread())\n"
        "        return [reply(x_of(requests[0]))]\n"
    )
    server.define("sums", source, config=batching())
    server.infer("sums", x(1))

    assert [threading.current_thread()] == stage.seen


def by_start(run: Run) -> list[Any]:
    """Return the calls of a run in the order of their executions."""
    return sorted(run.trace.spans[1:], key=lambda call: call.compute_start_ns)


@pytest.fixture(params=[1])
def queued(request, server, clients):
    """A server whose ``fan_out`` calls a model: three of four calls are queued.

    Its parameter is the maximum size of a batch.
    """
    stage.values |= {"variable": VARIABLE, "context": []}
    server.define("sums", THREADS, config=batching(size=request.param))
    server.define("fan_out", FAN_OUT, config=batching(size=1).split("dynamic")[0])

    def release() -> None:
        assert until(lambda: waiting(server) == 3)
        stage.events["go"].set()

    clients.pool.submit(release)
    return server


def test_queued_calls_of_async_exec_run_on_one_thread_in_succession(queued):
    """No thread has to wake between two executions: one worker runs them all."""
    run = queued.infer("fan_out", x(1))

    assert [[2.0], [4.0], [6.0], [8.0]] == run["Y"].tolist()
    first, *others = stage.seen
    assert 1 == len(set(others))
    assert first not in others


@pytest.mark.parametrize("queued", [2], indirect=True)
def test_all_requests_of_a_batch_are_answered_while_its_worker_continues(queued):
    """The thread of the first one wakes the others, to spare the worker the time."""
    run = queued.infer("fan_out", x(1))

    assert [[2.0], [4.0], [6.0], [8.0]] == run["Y"].tolist()
    assert [1, 2, 2, 1] == [call.batch for call in by_start(run)]


def test_context_variables_travel_to_a_worker(queued):
    """The model has those of the call of ``async_exec``."""
    token = VARIABLE.set("the cell's")
    try:
        queued.infer("fan_out", x(1))
    finally:
        VARIABLE.reset(token)

    assert ["the cell's"] * 4 == stage.values["context"]


def test_ctrl_c_ends_a_model_that_a_worker_executes(queued, ctrl_c):
    """The queued calls are not executed, and the next request is."""
    ctrl_c.expect(lambda: queued.infer("fan_out", x(100)))
    stage.events["end"].set()

    assert 2 == len(stage.seen)
    assert [[2.0], [4.0], [6.0], [8.0]] == queued.infer("fan_out", x(1))["Y"].tolist()
