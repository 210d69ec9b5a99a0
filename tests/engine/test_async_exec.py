"""Calls of ``async_exec`` and coroutines: what runs side by side, and on which loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import numpy as np
import pytest
import stage
from asserting import every
from cells import CONFIG, DOUBLE, cell, instances

from blsnb.errors import InferenceError

X = {"X": np.array([1, 2], np.float32)}


ANSWER = "return [reply(x_of(request) * 2)]"


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="")


def test_context_variables_travel_through_a_fan_out(server):
    """A model called by ``async_exec`` has them, too."""
    stage.values["variable"] = VARIABLE
    body = 'stage.seen.append(stage.values["variable"].get())\n' + ANSWER
    outer = 'return [reply(answer_of(await ask("inner", request).async_exec()))]'
    server.define("inner", cell(body), config=CONFIG)
    server.define("outer", cell(outer, asynchronous=True), config=CONFIG)
    token = VARIABLE.set("the cell's")
    try:
        server.infer("outer", X)
    finally:
        VARIABLE.reset(token)

    assert ["the cell's"] == stage.seen


def test_async_exec_runs_in_parallel(server):
    """Eight calls to eight instances run at the same time."""
    stage.barriers["all"] = threading.Barrier(8)
    inner = cell('stage.barriers["all"].wait(60)\n' + ANSWER)
    outer = cell(
        """
        calls = [ask("inner", request).async_exec() for _ in range(8)]
        answers = [answer_of(answer) for answer in await asyncio.gather(*calls)]
        return [reply(sum(answers))]
        """,
        asynchronous=True,
    )
    server.define("inner", inner, config=instances(8))
    server.define("outer", outer, config=CONFIG)

    run = server.infer("outer", X)

    assert [16, 32] == run["Y"].tolist()
    assert 8 == len({span.instance for span in run.trace.spans[1:]})
    assert every(span.flags.ASYNC in span.flags for span in run.trace.spans[1:])


@pytest.mark.parametrize(
    ("answers", "concurrent"),
    [
        ("await asyncio.gather(*(call.async_exec() for call in calls))", 2),
        ("[await call.async_exec() for call in calls]", 0),
    ],
)
def test_calls_before_the_previous_one_has_ended_are_marked(
    server, answers, concurrent
):
    """So a review knows a gather of calls that ran one after the other."""
    outer = cell(
        f"""
        calls = [ask("double", request) for _ in range(3)]
        answers = {answers}
        return [reply(answer_of(answers[0]))]
        """,
        asynchronous=True,
    )
    server.define("double", DOUBLE, config=CONFIG)
    server.define("outer", outer, config=CONFIG)

    spans = server.infer("outer", X).trace.spans[1:]

    assert concurrent == sum(span.flags.CONCURRENT in span.flags for span in spans)


def test_async_exec_to_one_instance_is_serialized(server):
    """An instance executes one request at a time, as on Triton."""
    inner = cell(
        """
        stage.seen.append("in")
        stage.seen.append("out")
        return [reply(x_of(request))]
        """
    )
    outer = cell(
        """
        calls = [ask("inner", request).async_exec() for _ in range(4)]
        await asyncio.gather(*calls)
        return [reply(x_of(request))]
        """,
        asynchronous=True,
    )
    server.define("inner", inner, config=CONFIG)
    server.define("outer", outer, config=CONFIG)

    server.infer("outer", X)

    assert ["in", "out"] * 4 == stage.seen


def test_one_request_object_may_be_in_flight_twice(server):
    """Triton 24.10 crashes here; the official example does it."""
    outer = cell(
        """
        asked = ask("double", request)
        answers = await asyncio.gather(asked.async_exec(), asked.async_exec())
        return [reply(sum(map(answer_of, answers)))]
        """,
        asynchronous=True,
    )
    server.define("double", DOUBLE, config=CONFIG)
    server.define("outer", outer, config=CONFIG)

    assert [4, 8] == server.infer("outer", X)["Y"].tolist()


def test_async_exec_needs_a_running_loop(server):
    """Outside a coroutine it fails as on Triton."""
    server.define("outer", cell('ask("double", request).async_exec()'), config=CONFIG)

    with pytest.raises(InferenceError, match="RuntimeError: no running event loop"):
        server.infer("outer", X)


def test_a_coroutine_runs_below_a_loop_of_the_caller(server):
    """A notebook cell runs inside a loop already."""
    body = "await asyncio.sleep(0)\n" + ANSWER
    server.define("model", cell(body, asynchronous=True), config=CONFIG)

    async def in_a_cell() -> list[float]:
        return server.infer("model", X)["Y"].tolist()

    assert [2, 4] == asyncio.run(in_a_cell())


def test_background_tasks_advance_between_requests(server):
    """The instance's loop continues while there are no requests."""
    body = """
    async def later():
        await asyncio.sleep(0.01)
        stage.events["later"].set()

    self.task = asyncio.create_task(later())
    return [reply(x_of(request))]
    """
    server.define("model", cell(body, asynchronous=True), config=CONFIG)
    server.infer("model", X)

    assert stage.events["later"].wait(60)


def test_all_coroutines_of_an_instance_share_one_loop(server):
    """Objects that ``execute`` keeps can be used in the next call."""
    body = "stage.seen.append(asyncio.get_running_loop())\n" + ANSWER
    server.define("model", cell(body, asynchronous=True), config=instances(1))
    server.infer("model", X)
    server.infer("model", X)

    assert stage.seen[0] is stage.seen[1]
    stage.seen.clear()


def test_an_endless_background_task_ends_with_the_model(server, caplog):
    """It is cancelled without warnings."""
    body = """
    async def for_ever():
        try:
            while True:
                await asyncio.sleep(60)
        finally:
            stage.seen.append("cancelled")

    self.task = asyncio.create_task(for_ever())
    await asyncio.sleep(0)
    return [reply(x_of(request))]
    """
    server.define("model", cell(body, asynchronous=True), config=CONFIG)
    server.infer("model", X)

    server.unload("model")

    assert ["cancelled"] == stage.seen
    assert [] == caplog.messages


LEFT = cell(
    """
    task = asyncio.ensure_future(ask("inner", request).async_exec())
    while not stage.events["asleep"].is_set():
        await asyncio.sleep(0.001)
    return [reply(x_of(request))]
    """,
    asynchronous=True,
)
"""Returns without awaiting its call of a model that is asleep."""


def test_closing_waits_for_a_call_that_its_caller_has_left(server):
    """Triton, too, ends when its models have no request in flight."""
    inner = 'stage.sleep()\nstage.seen.append("ends")\n' + ANSWER
    server.define("inner", cell(inner), config=CONFIG)
    server.define("outer", LEFT, config=CONFIG)
    server.infer("outer", X)
    ending = threading.Timer(0.2, stage.events["end"].set)
    ending.start()

    server.close()
    stage.seen.append("closed")

    ending.join()
    assert ["ends", "closed"] == stage.seen
