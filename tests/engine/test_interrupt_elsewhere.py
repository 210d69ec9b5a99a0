"""Ctrl-C while models run on other threads: they are left, and others take over."""

from __future__ import annotations

import contextlib
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import stage
from cells import CONFIG, DOUBLE, OWN_THREAD, calling, cell, instances

from blsnb import Run

from .clients import waiting
from .loops import FAN_OUT, LOOPS, SLEEPER, STOP, X, answers, interrupted_by


@pytest.mark.parametrize(
    "loop", ["sleeping", "printing", "logging", "calling", "polling", "waiting"]
)
def test_ctrl_c_ends_a_loop_on_a_thread_of_its_own(server, ctrl_c, capsys, loop):
    """With BLSNB_THREAD=instance the caller leaves, and the thread ends when it can."""
    server.define("busy", cell(interrupted_by(LOOPS[loop])), config=OWN_THREAD)
    server.define("double", DOUBLE, config=CONFIG)

    ctrl_c.expect(lambda: server.infer("busy", STOP))

    assert answers(server, "busy")


def test_ctrl_c_while_waiting_for_a_busy_model(server, ctrl_c):
    """The waiting request leaves the queue; the running one continues."""
    server.define("sleeper", cell(SLEEPER), config=CONFIG)
    server.define("outer", calling("sleeper"), config=CONFIG)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(server.infer, "sleeper", STOP)
        assert stage.events["asleep"].wait(60)

        ctrl_c.expect(lambda: server.infer("outer", X))

        stage.events["end"].set()
        assert [-2, 4] == other.result(60)["Y"].tolist()
    assert answers(server, "outer")


def test_ctrl_c_ends_a_fan_out_of_sleepers(server, ctrl_c):
    """The sleepers cannot be stopped, so new instances replace them."""
    server.define("sleeper", cell(SLEEPER), config=instances(4))
    server.define("fan", FAN_OUT, config=CONFIG)

    ctrl_c.expect(lambda: server.infer("fan", STOP))

    # They still sleep, and are not waited for.
    assert answers(server, "fan")
    assert answers(server, "sleeper")


def test_a_request_in_the_queue_gets_the_new_instance(server, ctrl_c):
    """A request that waited before Ctrl-C does not wait for the sleeper."""
    server.define("sleeper", cell(SLEEPER), config=CONFIG)
    server.define("fan", FAN_OUT, config=CONFIG)
    with ThreadPoolExecutor(1) as pool:

        def request_later() -> Run:
            assert stage.events["asleep"].wait(60)
            return server.infer("sleeper", X)

        later = pool.submit(request_later)
        # It waits behind three of the fan; the first of four sleeps.
        ctrl_c.press(when=lambda: waiting(server) == 4)
        with pytest.raises(KeyboardInterrupt):
            server.infer("fan", STOP)

        assert [2, 4] == later.result(60)["Y"].tolist()


def test_an_abandoned_sleeper_is_finalized_when_it_returns(server, ctrl_c):
    """It serves no further requests."""
    source = cell(
        SLEEPER,
        methods='def finalize(self):\n    stage.seen.append("finalized")\n'
        '    stage.events["finalized"].set()\n',
    )
    server.define("sleeper", source, config=CONFIG)
    server.define("fan", FAN_OUT, config=CONFIG)
    ctrl_c.expect(lambda: server.infer("fan", STOP))
    assert answers(server, "sleeper")

    stage.events["end"].set()

    assert stage.events["finalized"].wait(60)
    assert 1 == stage.seen.count("finalized")


def test_a_sleeper_that_returns_in_time_serves_on(server, ctrl_c):
    """No model is reloaded if the old instance is free before it is needed."""
    source = cell(
        SLEEPER, methods='def initialize(self, args):\n    stage.seen.append("made")\n'
    )
    server.define("sleeper", source, config=CONFIG)
    server.define("fan", FAN_OUT, config=CONFIG)
    ctrl_c.expect(lambda: server.infer("fan", STOP))

    stage.events["end"].set()

    assert answers(server, "sleeper")
    assert 1 == stage.seen.count("made")


def test_ctrl_c_ends_a_coroutine(server, ctrl_c):
    """An async ``execute`` is cancelled where it awaits."""
    body = """
    if x_of(request)[0] < 0:
        stage.events["asleep"].set()
        try:
            await asyncio.sleep(60)
        finally:
            stage.seen.append("cancelled")
    return [reply(x_of(request) * 2)]
    """
    server.define("async", cell(body, asynchronous=True), config=CONFIG)

    ctrl_c.expect(lambda: server.infer("async", STOP))

    assert ["cancelled"] == stage.seen
    assert answers(server, "async")


def test_ctrl_c_leaves_a_coroutine_that_blocks_its_loop(server, ctrl_c):
    """It cannot be cancelled, so another instance replaces it."""
    server.define("async", cell(SLEEPER, asynchronous=True), config=CONFIG)

    ctrl_c.expect(lambda: server.infer("async", STOP))

    assert answers(server, "async")


def test_a_coroutine_that_refuses_to_be_cancelled_gives_no_answer(server, ctrl_c):
    """A bare ``except:`` in a coroutine swallows its cancellation, not Ctrl-C."""
    body = """
    try:
        stage.events["asleep"].set()
        await asyncio.sleep(60 if x_of(request)[0] < 0 else 0)
    except:
        pass
    return [reply(x_of(request) * 2)]
    """
    server.define("async", cell(body, asynchronous=True), config=CONFIG)

    ctrl_c.expect(lambda: server.infer("async", STOP))

    assert answers(server, "async")


def test_ctrl_c_ends_threads_of_a_model(server, ctrl_c, capfd):
    """Threads of the model are abandoned without warnings."""
    body = """
    if x_of(request)[0] < 0:
        def work():
            stage.seen.append(ask("sleeper", request).exec().has_error())
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return [reply(x_of(request) * 2)]
    """
    server.define("sleeper", cell(SLEEPER), config=CONFIG)
    server.define("own", cell(body), config=CONFIG)

    # One of them sleeps, the other waits for it.
    ctrl_c.expect(lambda: server.infer("own", STOP), when=lambda: waiting(server) == 1)

    assert answers(server, "own")
    stage.events["end"].set()
    assert "Traceback" not in capfd.readouterr().err


BUSY = """
for number in range(10**6):
    last = answer_of(ask("own" if number % 2 else "middle", request).exec())
    print(end="")
return [reply(last)]
"""


BUSY_FAN = """
for _ in range(20):
    names = ("middle", "double", "own", "middle")
    calls = [ask(name, request).async_exec() for name in names]
    answers = [answer_of(answer) for answer in await asyncio.gather(*calls)]
return [reply(answers[0])]
"""


def test_ctrl_c_during_initialize_on_a_thread_of_its_own(server, ctrl_c):
    """The prompt is back at once, and the last working version stays."""
    server.define("slow", DOUBLE, config=OWN_THREAD)
    hook = "def initialize(self, args):\n    stage.sleep()\n"

    ctrl_c.expect(lambda: server.define("slow", cell("pass", methods=hook)))

    assert answers(server, "slow")


@pytest.mark.slow
def test_interrupts_at_any_time_lose_no_instance(server, ctrl_c, capsys, figures):
    """After a hundred interrupts at random moments every model serves, unrenewed."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("middle", calling("double"), config=CONFIG)
    server.define("own", calling("middle"), config=OWN_THREAD)
    server.define("busy", cell(BUSY), config=CONFIG)
    server.define("fan", cell(BUSY_FAN, asynchronous=True), config=CONFIG)
    made = {name for name in sys.modules if name.startswith("_blsnb_")}
    dice = random.Random(0)

    for _ in range(100):
        stage.events["asleep"].set()
        with contextlib.suppress(KeyboardInterrupt):
            ctrl_c.press(delay_s=dice.random() * 0.03)
            server.infer(dice.choice(["busy", "fan"]), X)
            ctrl_c.join()
            time.sleep(0.01)
        ctrl_c.join()
        for name in ("double", "middle", "own"):
            assert [2, 4] == server.infer(name, X)["Y"].tolist()
        figures(interrupted_requests=1)

    assert made == {name for name in sys.modules if name.startswith("_blsnb_")}
