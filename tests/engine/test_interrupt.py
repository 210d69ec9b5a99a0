"""Ctrl-C: it ends the request, never the server, whatever a model makes of it."""

from __future__ import annotations

import asyncio
import signal
import sys

import pytest
import stage
from asserting import every
from cells import CONFIG, DOUBLE, OWN_THREAD, calling, cell

from blsnb.errors import InferenceError, WouldHang
from blsnb.parts.server_parts import parts_of

from .loops import LOOPS, SLEEPER, STOP, X, answers, interrupted_by


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_ctrl_c_ends_a_loop(server, ctrl_c, capsys, loop):
    """Ctrl-C ends any model on the caller's thread at once."""
    server.define("busy", cell(interrupted_by(loop)), config=CONFIG)
    server.define("double", DOUBLE, config=CONFIG)

    ctrl_c.expect(lambda: server.infer("busy", STOP))

    stage.events["end"].set()
    assert answers(server, "busy")
    assert 1 == parts_of(server).engine.catalog.find("busy", -1).pool.idle_count


@pytest.mark.parametrize(
    ("loop", "asynchronous"),
    [
        ("while True:\n    pass", False),
        (
            "while True:\n    try:\n        await asyncio.Future()\n"
            "    except BaseException:\n        pass",
            True,
        ),
    ],
    ids=["a loop", "a coroutine that goes on"],
)
def test_the_traceback_of_ctrl_c_ends_where_it_hit(server, ctrl_c, loop, asynchronous):
    """A debugger opens there, not in the handler."""
    source = cell(f"stage.events['asleep'].set()\n{loop}", asynchronous=asynchronous)
    server.define("busy", source, config=CONFIG)
    ctrl_c.press()

    with pytest.raises(KeyboardInterrupt) as raised:
        server.infer("busy", X)

    folder = parts_of(server).repository.private("busy").version_dir(1)
    assert str(folder / "model.py") == str(raised.traceback[-1].path)


def test_ctrl_c_ends_nested_calls(server, ctrl_c):
    """The instances of three nested models are free for the next request."""
    server.define("inner", cell(SLEEPER), config=CONFIG)
    server.define("middle", calling("inner"), config=CONFIG)
    server.define("outer", calling("middle"), config=CONFIG)
    catalog = parts_of(server).engine.catalog
    pools = [catalog.find(name).pool for name in ("inner", "middle", "outer")]
    instances = [pool.instances[0] for pool in pools]

    ctrl_c.expect(lambda: server.infer("outer", STOP))

    assert answers(server, "outer")
    assert instances == [pool.instances[0] for pool in pools]
    assert [1, 1, 1] == [pool.idle_count for pool in pools]


@pytest.mark.parametrize("config", [CONFIG, OWN_THREAD], ids=["inline", "own thread"])
def test_a_bare_except_cannot_hide_ctrl_c(server, ctrl_c, config):
    """A model that swallows the interrupt gets it again at its next step."""
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


def test_a_bare_except_around_a_call_cannot_hide_ctrl_c(server, ctrl_c):
    """The caller's fallback is not a response, either."""
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


def test_the_interrupted_run_is_kept(server, ctrl_c):
    """The trace has all calls, and none is running."""
    server.define("sleeper", cell(SLEEPER), config=CONFIG)
    server.define("outer", calling("sleeper"), config=CONFIG)

    ctrl_c.expect(lambda: server.infer("outer", STOP))

    calls = parts_of(server).recorder.runs[-1].calls
    assert ["outer", "sleeper"] == [call.model.name for call in calls]
    assert every(call.request_end_ns for call in calls)


def test_a_keyboard_interrupt_of_the_model_is_its_error(server):
    """If the model raises it, it is a failure with Triton's text."""
    server.define("rude", cell("raise KeyboardInterrupt"), config=CONFIG)

    with pytest.raises(InferenceError) as caught:
        server.infer("rude", X)

    start = "Failed to process the request(s) for model 'rude_0', message: "
    assert caught.value.message.startswith(f"{start}KeyboardInterrupt: <EMPTY MESSAGE>")


def test_a_keyboard_interrupt_of_a_coroutine_ends_its_loop(server):
    """Triton then waits forever; kernel and other models continue here."""
    rude = cell("raise KeyboardInterrupt", asynchronous=True)
    server.define("rude", rude, config=CONFIG)
    server.define("double", DOUBLE, config=CONFIG)

    with pytest.raises(
        WouldHang,
        match=r"KeyboardInterrupt leave a coroutine: asyncio ends its "
        r"loop with them\. Load the model again to give it a new "
        r"loop\.$",
    ):
        server.infer("rude", STOP)

    assert answers(server, "double")


def test_the_handler_of_the_user_is_back_after_a_request(server):
    """SIGINT has the engine's handler only during a request."""
    server.define("double", DOUBLE, config=CONFIG)
    before = signal.getsignal(signal.SIGINT)

    server.infer("double", X)

    assert signal.getsignal(signal.SIGINT) is before


def test_an_ignored_ctrl_c_stays_ignored(server, ctrl_c):
    """A process that ignores SIGINT does so during requests, too."""
    body = 'stage.events["asleep"].set()\nassert stage.events["pressed"].wait(60)\n'
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
    """It is raised as KeyboardInterrupt, and the last working version stays."""
    server.define("slow", DOUBLE, config=CONFIG)
    hook = "def initialize(self, args):\n    stage.sleep()\n"

    ctrl_c.expect(
        lambda: server.define("slow", cell("pass", methods=hook), config=CONFIG)
    )

    assert answers(server, "slow")


def test_ctrl_c_reaches_code_outside_the_models_folder(server, ctrl_c, tmp_path):
    """A model whose ``execute`` is in an installed package is interrupted, too."""
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
