"""Models that end the event loop on which their own coroutines run."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, calling, cell

from blsnb.errors import WouldHang

X = {"X": np.array([1, 2], np.float32)}
DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
LOOP = "loop = asyncio.get_running_loop()\n"
ANSWER = "return [reply(x_of(request))]"
SEND = """
FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
sender = request.get_response_sender()
try:
    await asyncio.sleep(0.05)
finally:
    sender.send(reply(x_of(request)), flags=FINAL)
"""
ENDS = {
    "stopped, then waits": f"loop.stop()\nawait asyncio.sleep(0.05)\n{ANSWER}",
    "stopped, then answers": f"loop.stop()\n{ANSWER}",
    "stopped soon": f"loop.call_soon(loop.stop)\nawait asyncio.sleep(0.05)\n{ANSWER}",
    "SystemExit": "raise SystemExit(3)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "a task's SystemExit": (
        "async def leave():\n    raise SystemExit(3)\n"
        f"task = asyncio.create_task(leave())\nawait asyncio.sleep(0.05)\n{ANSWER}"
    ),
    "a callback's SystemExit": (
        f"loop.call_soon(exit, 3)\nawait asyncio.sleep(0.05)\n{ANSWER}"
    ),
}


def coroutine(body: str) -> str:
    """Return a model whose ``execute`` is asynchronous."""
    return cell(LOOP + body, asynchronous=True)


@pytest.mark.parametrize("body", ENDS.values(), ids=ENDS)
def test_a_model_that_ends_its_loop_would_hang(server, body):
    """Triton never responds to it or to later requests; other models serve."""
    server.define("ending", coroutine(body), config=CONFIG)
    server.define("double", DOUBLE, config=CONFIG)

    for _ in range(2):
        with pytest.raises(WouldHang) as caught:
            server.infer("ending", X, client_timeout_s=30)
        assert "is over: the model " in caught.value.message
        assert "execute() of ending_0" in caught.value.message
        assert "loop.stop()" in caught.value.advice
    assert () == server.model("ending").running

    assert [2, 4] == server.infer("double", X)["Y"].tolist()


@pytest.mark.parametrize("body", ["loop.stop()\n" + SEND, "raise SystemExit(3)"])
def test_so_would_a_stream(server, body):
    """Responses of the model's ``finally`` are ignored."""
    server.define("ending", coroutine(body), config=DECOUPLED)

    for _ in range(2):
        with pytest.raises(WouldHang, match="is over: the model"):
            list(server.stream("ending", X))


def test_the_message_says_what_ended_the_loop(server):
    """It has the location, as for any exception of a model."""
    server.define("ending", coroutine("raise SystemExit(3)"), config=CONFIG)

    with pytest.raises(WouldHang, match=r"ended it with SystemExit: 3\n\nAt:\n.*model"):
        server.infer("ending", X)


def test_an_exception_that_a_decoupled_coroutine_raises_is_noted(server):
    """Triton only logs it, so that its client would wait."""
    server.define("failing", coroutine("raise ValueError('boom')"), config=DECOUPLED)
    stream = server.stream("failing", X)
    with pytest.raises(WouldHang):
        list(stream)

    (note,) = stream.run.notes
    assert note.startswith(
        "execute() of failing_0 raised, and Triton only logs that for an asynchronous "
        "decoupled model: ValueError: boom\n\nAt:\n  /"
    )
    assert note.endswith(": execute\n")


def test_other_coroutines_of_the_loop_end_too(server):
    """It does not matter what they wait for."""
    stage.begun = threading.Event()
    body = f"""
if x_of(request)[0]:
    loop.stop()
stage.begun.set()
await asyncio.sleep(600)
{ANSWER}
"""
    server.define("ending", coroutine(body), config=DECOUPLED)
    waiting = server.stream("ending", {"X": np.zeros(1, np.float32)})
    assert stage.begun.wait(60)

    with pytest.raises(WouldHang):
        list(server.stream("ending", X))
    with pytest.raises(WouldHang):
        list(waiting)


def test_a_model_loaded_again_has_a_new_loop(server):
    """A model that ended its loop can be unloaded."""
    once = "if not stage.seen:\n    stage.seen.append(1)\n    loop.stop()\n" + ANSWER
    stage.seen = []
    server.define("ending", coroutine(once), config=CONFIG)
    with pytest.raises(WouldHang):
        server.infer("ending", X)

    server.unload("ending")
    server.load("ending")

    assert [1, 2] == server.infer("ending", X)["Y"].tolist()


def test_every_request_of_a_batch_would_hang(server):
    """All clients are affected, and models that called one."""
    stage.begun = threading.Event()
    config = (
        "max_batch_size: 4\ndynamic_batching { max_queue_delay_microseconds: 300000 }"
    )
    server.define("ending", coroutine("loop.stop()"), config=CONFIG + config)
    server.define("outer", calling("ending"), config=CONFIG + "max_batch_size: 4")
    rows = {"X": np.ones((1, 2), np.float32)}

    def hangs(model: str) -> bool:
        with pytest.raises(WouldHang, match="is over"):
            server.infer(model, rows)
        return True

    with ThreadPoolExecutor(3) as clients:
        assert [True] * 3 == list(clients.map(hangs, ["ending", "outer", "ending"]))


def test_requests_that_come_as_the_loop_ends_end_too(server):
    """No request is lost between the end of the loop and the next one."""
    server.define("ending", coroutine(f"loop.stop()\n{ANSWER}"), config=DECOUPLED)

    def hangs(_: int) -> bool:
        with pytest.raises(WouldHang):
            list(server.stream("ending", X))
        return True

    for _ in range(20):
        with ThreadPoolExecutor(8) as clients:
            assert all(clients.map(hangs, range(8)))
        server.unload("ending")
        server.load("ending")
