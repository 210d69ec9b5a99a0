"""Waits that look like a hang but end: they never raise."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, FINAL, cell, instances
from waiting import until

from blsnb.inference_server import Server

from .clients import waiting

X = {"X": np.array([1, 2], np.float32)}
BUSY = cell(
    """
    stage.events["busy"].set()
    stage.events["go on"].wait(60)
    return [reply(x_of(request) * 2)]
    """
)


def doubles(server: Server, name: str = "double") -> bool:
    """Whether the server still responds correctly."""
    if name == "double":
        server.define("double", DOUBLE, config=CONFIG)
    return [2, 4] == server.infer(name, X)["Y"].tolist()


def test_a_self_call_with_two_instances_is_answered(server):
    """The second instance serves it."""
    source = cell(
        """
        if x_of(request)[0] > 0:
            less = pb_utils.Tensor("X", x_of(request) - 1)
            inner = pb_utils.InferenceRequest(
                model_name="me", inputs=[less], requested_output_names=["Y"]
            )
            return [reply(answer_of(inner.exec()) + 1)]
        return [reply(x_of(request))]
        """
    )
    server.define("me", source, config=instances(2))

    run = server.infer("me", {"X": np.array([1], np.float32)})

    assert [1.0] == run["Y"].tolist()
    assert 2 == len({span.instance for span in run.trace.spans})


def test_a_self_call_of_a_models_own_thread_is_legal(server):
    """It waits until ``execute`` has returned."""
    source = cell(
        """
        if x_of(request)[0] == 0:
            return [reply(x_of(request))]

        def later(x):
            inner = pb_utils.InferenceRequest(
                model_name="me",
                inputs=[pb_utils.Tensor("X", x * 0)],
                requested_output_names=["Y"],
            )
            stage.events["asking"].set()
            stage.seen.append(answer_of(inner.exec()).tolist())
            stage.events["answered"].set()

        threading.Thread(target=later, args=[x_of(request)]).start()
        stage.events["asking"].wait(60)
        return [reply(x_of(request) * 2)]
        """
    )
    server.define("me", source, config=CONFIG)
    assert doubles(server, "me")
    assert stage.events["answered"].wait(60)
    assert [[0.0, 0.0]] == stage.seen


def test_a_self_call_of_a_thread_that_execute_waits_for_goes_on_elsewhere(server):
    """The second instance serves it once it is free."""
    source = cell(
        """
        kind = x_of(request)[0]
        if kind == 9:
            stage.events["busy"].set()
            stage.events["free"].wait(60)
        if kind != 1:
            return [reply(x_of(request))]
        inner = pb_utils.InferenceRequest(
            model_name="me",
            inputs=[pb_utils.Tensor("X", x_of(request) * 0)],
            requested_output_names=["Y"],
        )
        answers = []
        thread = threading.Thread(target=lambda: answers.append(inner.exec()))
        thread.start()
        threading.Timer(0.05, stage.events["free"].set).start()
        thread.join(60)
        return [reply(answer_of(answers[0]))]
        """
    )
    server.define("me", source, config=instances(2))
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(server.infer, "me", {"X": np.array([9], np.float32)})
        assert stage.events["busy"].wait(60)

        run = server.infer("me", {"X": np.array([1], np.float32)})
        other.result()

    assert [0.0] == run["Y"].tolist()


def test_wait_for_on_a_self_call_is_legal(server):
    """The time-out reaches the model, and the call is dropped."""
    source = cell(
        """
        if stage.values.setdefault("first", True):
            stage.values["first"] = False
            try:
                await asyncio.wait_for(ask("me", request).async_exec(), 0.05)
            except asyncio.TimeoutError:
                return [reply(x_of(request) * 2)]
        stage.events["dropped"].set()
        return [reply(x_of(request) * 3)]
        """,
        asynchronous=True,
    )
    server.define("me", source, config=CONFIG)
    assert doubles(server, "me")
    # The inference runs on, as on Triton, and its result goes nowhere.
    assert stage.events["dropped"].wait(60)


def test_a_sender_used_later_is_legal(server):
    """A timer responds long after ``execute`` has returned."""
    source = cell(
        f"""
        sender = request.get_response_sender()
        x = x_of(request)
        threading.Timer(1.0, lambda: sender.send(reply(x * 2), flags={FINAL})).start()
        """
    )
    server.define("late", source, config=CONFIG)

    assert doubles(server, "late")


def test_a_sender_held_by_the_model_is_answered_by_the_next_request(server):
    """An instance serves requests while an earlier one has no response."""
    source = cell(
        f"""
        if self.held is None:
            self.held = request.get_response_sender()
            stage.events["held"].set()
            return None
        self.held.send(reply(x_of(request)), flags={FINAL})
        return [reply(x_of(request))]
        """,
        methods="held = None\n",
    )
    server.define("pair", source, config=CONFIG)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(server.infer, "pair", {"X": np.array([1], np.float32)})
        assert stage.events["held"].wait(60)
        second = server.infer("pair", {"X": np.array([7], np.float32)})

        assert [7.0] == second["Y"].tolist()
        assert [7.0] == first.result(60)["Y"].tolist()


def test_a_response_and_then_the_final_flag_is_one_answer(server):
    """They may be sent separately; only the flag ends the request."""
    source = cell(
        f"""
        sender = request.get_response_sender()
        sender.send(reply(x_of(request) * 2))
        threading.Thread(target=lambda: sender.send(flags={FINAL})).start()
        return None
        """
    )
    server.define("apart", source, config=CONFIG)

    assert doubles(server, "apart")


def test_a_task_that_holds_the_sender_answers_later(server):
    """A background task of the instance's loop survives ``execute``."""
    source = cell(
        f"""
        async def later(sender, x):
            await asyncio.sleep(0.05)
            sender.send(reply(x * 2), flags={FINAL})

        sender = request.get_response_sender()
        self.task = asyncio.create_task(later(sender, x_of(request)))
        return None
        """,
        asynchronous=True,
    )
    server.define("background", source, config=CONFIG)

    assert doubles(server, "background")


def test_a_busy_model_is_waited_for(server):
    """The second of two clients waits for the only instance."""
    server.define("slow", BUSY, config=CONFIG)

    async def both():
        first = asyncio.create_task(server.async_infer("slow", X))
        await asyncio.to_thread(stage.events["busy"].wait, 60)
        second = asyncio.create_task(server.async_infer("slow", X))
        stage.events["go on"].set()
        return await asyncio.gather(first, second)

    runs = asyncio.run(both())

    assert [[2.0, 4.0]] * 2 == [run["Y"].tolist() for run in runs]


@pytest.mark.parametrize(("hang_notice_s", "is_noted"), [(0, True), (60, False)])
def test_a_long_wait_is_noted(hang_notice_s, is_noted, caplog):
    """The note names the model and the instance; a shorter wait has no note."""
    with Server(hang_notice_s=hang_notice_s) as server:
        server.define("slow", BUSY, config=CONFIG)
        with ThreadPoolExecutor(2) as pool:
            pool.submit(server.infer, "slow", X)
            assert stage.events["busy"].wait(60)
            second = pool.submit(server.infer, "slow", X)
            assert until(lambda: waiting(server) == 1)
            assert until(lambda: not is_noted or "has waited" in caplog.text)
            stage.events["go on"].set()
        run = second.result()

    assert is_noted == any("slow has waited 0 s (" in note for note in run.notes)
    assert is_noted == bool(run.notes)


@pytest.mark.parametrize(("count", "is_noted"), [(1, True), (2, False)])
def test_a_long_wait_for_the_instance_of_a_caller_has_advice(count, is_noted, caplog):
    """On Triton an asyncio.run() that awaits the model itself never ends."""
    source = cell(
        """
        import asyncio

        if x_of(request)[0] == 0:
            stage.events["go on"].wait(60)
            return [reply(x_of(request))]
        less = pb_utils.Tensor("X", x_of(request) - 1)
        inner = pb_utils.InferenceRequest(
            model_name="me", inputs=[less], requested_output_names=["Y"]
        )
        async def asks():
            answer = asyncio.ensure_future(inner.async_exec())
            await asyncio.to_thread(stage.events["go on"].wait, 60)
            answer.cancel()
        asyncio.run(asks())
        return [reply(x_of(request))]
        """
    )
    advice = (
        "Each of these instances executes a caller of this request: if its execute() "
        "waits for the response, Triton would wait here forever. Give 'me' more "
        "instances (--instances 2, or instance_group { count: 2 }), or break the "
        "circle: do the work in this model, or move it into a third one that both can "
        "call. Ctrl-C ends it now."
    )
    with Server(hang_notice_s=0) as server:
        server.define("me", source, config=instances(count))
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(server.infer, "me", {"X": np.ones(1, np.float32)})
            noted = until(lambda: advice in caplog.text) if is_noted else False
            stage.events["go on"].set()
        asked.result()

    assert is_noted == noted
    assert is_noted == (advice in caplog.text)
