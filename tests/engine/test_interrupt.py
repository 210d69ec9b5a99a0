"""Ctrl-C: it ends the request, never the server, whatever a model makes of it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, OWN_THREAD, calling, cell, instances

from blsnb.errors import InferenceError
from blsnb.inference_server import Server

X = {"X": np.array([1, 2], np.float32)}
STOP = {"X": np.array([-1, 2], np.float32)}
SLEEPER = """
if x_of(request)[0] < 0:
    stage.sleep()
return [reply(x_of(request) * 2)]
"""
FAN_OUT = cell(
    """
    stage.seen.append("begins")
    calls = [ask("sleeper", request).async_exec() for _ in range(4)]
    answers = [answer_of(answer) for answer in await asyncio.gather(*calls)]
    return [reply(answers[0])]
    """,
    asynchronous=True,
)


class Interrupt:
    """Ctrl-C once a model is at work, and the time until the prompt is back."""

    def __init__(self) -> None:
        self.pressed_s = 0.0
        self._threads: list[threading.Thread] = []

    def press(self, event: str = "asleep", delay_s: float = 0.05) -> None:
        """Interrupt the main thread shortly after a model has set an event."""

        def wait() -> None:
            stage.events[event].wait(10)
            time.sleep(delay_s)
            self.pressed_s = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

        self._threads.append(threading.Thread(target=wait))
        self._threads[-1].start()

    def expect(self, call: Callable[[], object], event: str = "asleep") -> None:
        """Press during a call, which must end with KeyboardInterrupt, and soon."""
        self.press(event)
        with pytest.raises(KeyboardInterrupt):
            call()
        assert time.monotonic() - self.pressed_s < 1

    def join(self) -> None:
        """Wait for what was pressed."""
        for thread in self._threads:
            thread.join()


@pytest.fixture
def ctrl_c() -> Iterator[Interrupt]:
    """Ctrl-C as a terminal or a notebook sends it."""
    interrupt = Interrupt()
    # Python itself swallows what is raised in a weak reference's callback.
    gc.collect()
    gc.disable()
    yield interrupt
    gc.enable()
    interrupt.join()


def answers(server: Server, name: str) -> bool:
    """Whether a model still does its work, and another one can be made."""
    server.define("double", DOUBLE, config=CONFIG)
    results = [server.infer(each, X)["Y"].tolist() for each in (name, "double")]
    return [[2, 4], [2, 4]] == results


LOOPS = {
    "sleeping": "stage.sleep()",
    "computing": """
        stage.events["asleep"].set()
        while True:
            np.linalg.norm(np.ones(4))
        """,
    "pb_utils": """
        stage.events["asleep"].set()
        while True:
            pb_utils.Tensor("Y", x_of(request)).shape()
        """,
    "printing": """
        stage.events["asleep"].set()
        while True:
            print(".", end="")
        """,
    "logging": """
        stage.events["asleep"].set()
        while True:
            pb_utils.Logger.log_verbose("again")
        """,
    "calling": """
        stage.events["asleep"].set()
        while True:
            answer_of(ask("double", request).exec())
        """,
    "polling": """
        stage.events["asleep"].set()
        while not request.is_cancelled():
            pass
        """,
    "waiting": """
        stage.events["asleep"].set()
        self.held = request.get_response_sender()
        return None
        """,
}


def interrupted_by(loop: str) -> str:
    """Return lines that run a loop for a negative input."""
    inner = textwrap.indent(textwrap.dedent(loop).strip(), "    ")
    return f"if x_of(request)[0] < 0:\n{inner}\nreturn [reply(x_of(request) * 2)]"


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_ctrl_c_ends_a_loop(server, ctrl_c, capsys, loop):
    """Whatever a model does on the caller's thread, Ctrl-C ends it at once."""
    server.define("busy", cell(interrupted_by(loop)), config=CONFIG)
    server.define("double", DOUBLE, config=CONFIG)

    ctrl_c.expect(lambda: server.infer("busy", STOP))

    stage.events["end"].set()
    assert answers(server, "busy")


@pytest.mark.parametrize(
    "loop", ["sleeping", "printing", "logging", "calling", "polling", "waiting"]
)
def test_ctrl_c_ends_a_loop_on_a_thread_of_its_own(server, ctrl_c, capsys, loop):
    """With BLSNB_THREAD=instance the caller leaves, and the thread ends when it can."""
    server.define("busy", cell(interrupted_by(LOOPS[loop])), config=OWN_THREAD)
    server.define("double", DOUBLE, config=CONFIG)

    ctrl_c.expect(lambda: server.infer("busy", STOP))

    assert answers(server, "busy")


def test_ctrl_c_ends_nested_calls(server, ctrl_c):
    """Three models deep, each of them free for the next request."""
    server.define("inner", cell(SLEEPER), config=CONFIG)
    server.define("middle", calling("inner"), config=CONFIG)
    server.define("outer", calling("middle"), config=CONFIG)

    ctrl_c.expect(lambda: server.infer("outer", STOP))

    assert answers(server, "outer")


def test_ctrl_c_while_waiting_for_a_busy_model(server, ctrl_c):
    """A request in a queue leaves it; the one that is served goes on."""
    server.define("sleeper", cell(SLEEPER), config=CONFIG)
    server.define("outer", calling("sleeper"), config=CONFIG)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(server.infer, "sleeper", STOP)
        assert stage.events["asleep"].wait(10)

        ctrl_c.expect(lambda: server.infer("outer", X))

        stage.events["end"].set()
        assert [-2, 4] == other.result(10)["Y"].tolist()
    assert answers(server, "outer")


def test_ctrl_c_ends_a_fan_out_of_sleepers(server, ctrl_c):
    """The sleepers cannot be stopped: fresh instances take over from them."""
    server.define("sleeper", cell(SLEEPER), config=instances(4))
    server.define("fan", FAN_OUT, config=CONFIG)

    ctrl_c.expect(lambda: server.infer("fan", STOP))

    # They still sleep, and are not waited for.
    assert answers(server, "fan")
    assert answers(server, "sleeper")


def test_a_request_in_the_queue_gets_the_fresh_instance(server, ctrl_c):
    """Also one that began to wait before Ctrl-C does not wait for the sleeper."""
    server.define("sleeper", cell(SLEEPER), config=CONFIG)
    server.define("fan", FAN_OUT, config=CONFIG)
    with ThreadPoolExecutor(1) as pool:
        waiting = []

        def request_later() -> None:
            waiting.append(pool.submit(server.infer, "sleeper", X))

        threading.Timer(0.02, request_later).start()
        ctrl_c.press("asleep", 0.1)
        with pytest.raises(KeyboardInterrupt):
            server.infer("fan", STOP)

        assert [2, 4] == waiting[0].result(2)["Y"].tolist()


def test_a_sleeper_that_comes_back_is_finalized(server, ctrl_c):
    """The instance that was left behind ends when it returns, and serves no more."""
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

    assert stage.events["finalized"].wait(5)
    assert 1 == stage.seen.count("finalized")


def test_a_sleeper_that_comes_back_in_time_serves_on(server, ctrl_c):
    """No model is loaded anew if the old instance is there again before it is used."""
    source = cell(
        SLEEPER, methods='def initialize(self, args):\n    stage.seen.append("made")\n'
    )
    server.define("sleeper", source, config=CONFIG)
    server.define("fan", FAN_OUT, config=CONFIG)
    ctrl_c.expect(lambda: server.infer("fan", STOP))

    stage.events["end"].set()

    assert answers(server, "sleeper")
    assert 1 == stage.seen.count("made")


@pytest.mark.parametrize("config", [CONFIG, OWN_THREAD], ids=["inline", "own thread"])
def test_a_bare_except_makes_no_answer_of_ctrl_c(server, ctrl_c, config):
    """A model that swallows the interrupt meets it at its next step."""
    loop = """
    try:
        stage.sleep()
    except:
        stage.seen.append("swallowed")
    """
    server.define("stubborn", cell(interrupted_by(loop)), config=config)

    ctrl_c.expect(lambda: server.infer("stubborn", STOP))

    stage.events["end"].set()
    assert answers(server, "stubborn")


def test_a_bare_except_around_a_call_makes_no_answer_of_ctrl_c(server, ctrl_c):
    """The fallback of a caller is no answer either."""
    server.define("sleeper", cell(SLEEPER), config=CONFIG)
    body = """
    while True:
        try:
            return [reply(answer_of(ask("sleeper", request).exec()))]
        except Exception:
            return [reply(x_of(request))]
        except:
            break
    return [reply(x_of(request) * 0)]
    """
    server.define("stubborn", cell(body), config=CONFIG)

    ctrl_c.expect(lambda: server.infer("stubborn", STOP))

    assert answers(server, "stubborn")


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
    """It cannot be cancelled; another instance takes over."""
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
    """What a model runs on threads of its own is let go of without noise."""
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

    ctrl_c.expect(lambda: server.infer("own", STOP))

    assert answers(server, "own")
    stage.events["end"].set()
    assert "Traceback" not in capfd.readouterr().err


def test_the_interrupted_run_is_kept(server, ctrl_c):
    """What had happened is in the trace, and nothing in it still runs."""
    server.define("sleeper", cell(SLEEPER), config=CONFIG)
    server.define("outer", calling("sleeper"), config=CONFIG)

    ctrl_c.expect(lambda: server.infer("outer", STOP))

    calls = server.runs[-1].calls
    assert ["outer", "sleeper"] == [call.model.name for call in calls]
    assert all(call.request_end_ns for call in calls)


def test_a_keyboard_interrupt_of_the_model_is_its_error(server):
    """Raised by the model itself it is a failure in Triton's words."""
    server.define("rude", cell("raise KeyboardInterrupt"), config=CONFIG)

    with pytest.raises(InferenceError) as caught:
        server.infer("rude", X)

    start = "Failed to process the request(s) for model 'rude_0', message: "
    assert caught.value.message.startswith(f"{start}KeyboardInterrupt: <EMPTY MESSAGE>")


def test_a_keyboard_interrupt_of_a_coroutine_is_its_error(server):
    """It stops neither the loop nor the server."""
    body = """
    if x_of(request)[0] < 0:
        raise KeyboardInterrupt
    return [reply(x_of(request) * 2)]
    """
    server.define("rude", cell(body, asynchronous=True), config=CONFIG)

    with pytest.raises(InferenceError, match="KeyboardInterrupt"):
        server.infer("rude", STOP)

    assert answers(server, "rude")


def test_the_handler_of_the_user_is_back_after_a_request(server):
    """During a request SIGINT is the engine's, before and after it is not."""
    server.define("double", DOUBLE, config=CONFIG)
    before = signal.getsignal(signal.SIGINT)

    server.infer("double", X)

    assert signal.getsignal(signal.SIGINT) is before


def test_an_ignored_ctrl_c_stays_ignored(server, ctrl_c):
    """A process that ignores SIGINT does so during a request, too."""
    body = 'stage.events["asleep"].set()\nstage.events["end"].wait(0.2)\n'
    server.define("slow", cell(f"{body}return [reply(x_of(request))]"), config=CONFIG)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ctrl_c.press()
        run = server.infer("slow", X)
    finally:
        signal.signal(signal.SIGINT, before)

    assert [1, 2] == run["Y"].tolist()


def test_ctrl_c_below_a_running_loop(server, ctrl_c):
    """Inside ``asyncio.run`` the loop's own handler only notes the interrupt."""
    server.define("sleeper", cell(SLEEPER), config=CONFIG)

    async def main() -> None:
        server.infer("sleeper", STOP)

    ctrl_c.expect(lambda: asyncio.run(main()))

    assert answers(server, "sleeper")


def test_ctrl_c_during_initialize(server, ctrl_c):
    """It reaches the user as what it is, and the last good version stays."""
    server.define("slow", DOUBLE, config=CONFIG)
    hook = "def initialize(self, args):\n    stage.sleep()\n"

    ctrl_c.expect(
        lambda: server.define("slow", cell("pass", methods=hook), config=CONFIG)
    )

    assert answers(server, "slow")


def test_ctrl_c_reaches_code_outside_the_models_folder(server, ctrl_c, tmp_path):
    """A model whose ``execute`` lives in an installed package is interrupted, too."""
    (tmp_path / "elsewhere.py").write_text(
        "import time\nimport stage\n\n\n"
        "def execute(self, requests):\n"
        "    stage.events['asleep'].set()\n"
        "    while stage.events:\n"
        "        time.sleep(0.01)\n"
    )
    source = "import elsewhere\n\n\nclass TritonPythonModel:\n"
    sys.path.append(str(tmp_path))
    try:
        source += "    execute = elsewhere.execute\n"
        server.define("thin", source, config=CONFIG)
        ctrl_c.expect(lambda: server.infer("thin", X))
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("elsewhere", None)


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


@pytest.mark.slow
def test_interrupts_at_any_time_lose_no_instance(server, ctrl_c, capsys):
    """A hundred of them, at random moments; every model serves on, unrenewed."""
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

    assert made == {name for name in sys.modules if name.startswith("_blsnb_")}
