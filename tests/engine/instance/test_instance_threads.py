"""On which thread a model runs, and what that means to its libraries."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, OWN_THREAD, cell, instances

from blsnb.engine.instance import event_loop
from blsnb.engine.instance.event_loop import EventLoop, LoopEnded
from blsnb.engine.instance.instance_threads import InstanceThreads, not_ready_reason
from blsnb.engine.request.inflight import current_execution
from blsnb.errors import InferenceError, OutOfResourcesError
from blsnb.parts.server_parts import parts_of

X = {"X": np.array([1, 2], np.float32)}


NOTE_THREAD = (
    "stage.seen.append((threading.get_ident(), threading.current_thread().name))"
)


ANSWER = "return [reply(x_of(request) * 2)]"


HOOKS = f"""
def initialize(self, args):
    {NOTE_THREAD}

def finalize(self):
    {NOTE_THREAD}

"""


SQLITE = """
def initialize(self, args):
    import sqlite3
    self.connection = sqlite3.connect(":memory:")
    self.connection.execute("CREATE TABLE factor (value)")
    self.connection.execute("INSERT INTO factor VALUES (2)")

def finalize(self):
    self.connection.close()

"""


QUERY = """
(factor,) = self.connection.execute("SELECT value FROM factor").fetchone()
return [reply(x_of(request) * factor)]
"""


def test_everything_runs_on_the_callers_thread(server):
    """BLS calls are plain function calls, two models deep."""
    inner = cell(f"{NOTE_THREAD}\n{ANSWER}", methods=HOOKS)
    outer = cell(
        f'{NOTE_THREAD}\nreturn [reply(answer_of(ask("inner", request).exec()))]'
    )
    server.define("inner", inner, config=CONFIG)
    server.define("outer", outer, config=CONFIG)
    before = threading.active_count()

    server.infer("outer", X)
    server.unload("inner")

    assert {threading.get_ident()} == {ident for ident, _ in stage.seen}
    assert 4 == len(stage.seen)
    assert before == threading.active_count()


def test_a_debugger_sees_the_users_frames(server):
    """The cell's frames are below those of ``execute``."""
    body = """
    import sys
    frame, names = sys._getframe(), []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    stage.seen.append("test_a_debugger_sees_the_users_frames" in names)
    return [reply(x_of(request))]
    """
    server.define("model", cell(body), config=CONFIG)
    server.infer("model", X)

    assert [True] == stage.seen


def test_an_instance_may_have_a_thread_of_its_own(server):
    """With BLSNB_THREAD=instance all hooks share one, named after the instance."""
    server.define(
        "model", cell(f"{NOTE_THREAD}\n{ANSWER}", methods=HOOKS), config=OWN_THREAD
    )

    with ThreadPoolExecutor(1) as pool:
        pool.submit(server.infer, "model", X).result()
    server.infer("model", X)
    server.unload("model")

    assert 4 == len(stage.seen)
    assert 1 == len(set(stage.seen))
    assert "model_0" == stage.seen[0][1]
    assert threading.get_ident() != stage.seen[0][0]


def test_sqlite_on_the_callers_thread(server):
    """A connection of ``initialize`` works in ``execute`` on the same thread."""
    server.define("model", cell(QUERY, methods=SQLITE), config=CONFIG)

    assert [2, 4] == server.infer("model", X)["Y"].tolist()


def test_sqlite_on_another_thread_has_a_note_with_the_fix(server):
    """The error is sqlite's own."""
    server.define("model", cell(QUERY, methods=SQLITE), config=CONFIG)

    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(InferenceError, match="created in a thread") as caught,
    ):
        pool.submit(server.infer, "model", X).result()

    assert "BLSNB_THREAD" in " ".join(caught.value.run.notes)


BOUND = {
    "a connection": ("self.c = sqlite3.connect(':memory:')", "self.c (sqlite3."),
    "a thread-local": ("self.local = threading.local()", "self.local (threading"),
    "a global": ("globals()['LOCAL'] = threading.local()", "LOCAL (threading.local)"),
    "an event loop": ("self.loop = asyncio.new_event_loop()", "self.loop (an event"),
}
FREE = {
    "nothing": "pass",
    "a lock": "self.lock = threading.Lock()",
    "a shared connection": (
        "self.c = sqlite3.connect(':memory:', check_same_thread=False)"
    ),
    "a number": "self.number = 1",
}


def _on_another_thread(server, line, *, asynchronous=False):
    """Return the notes of a run on another thread than `initialize`."""
    methods = f"""
    def initialize(self, args):
        import sqlite3
        {line}

    def finalize(self):
        for each in (getattr(self, "loop", None), getattr(self, "c", None)):
            if each is not None:
                each.close()

    """
    source = cell(ANSWER, methods=textwrap.dedent(methods), asynchronous=asynchronous)
    server.define("model", source, config=CONFIG)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(server.infer, "model", X).result().notes


@pytest.mark.parametrize(("line", "what"), BOUND.values(), ids=BOUND)
def test_objects_bound_to_a_thread_are_noted(server, line, what):
    """The note names the object and the parameter that fixes it."""
    (note,) = _on_another_thread(server, line)

    assert note.startswith(what)
    assert "BLSNB_THREAD" in note


@pytest.mark.parametrize("line", FREE.values(), ids=FREE)
def test_a_model_that_has_nothing_bound_has_no_note(server, line):
    """Most models run on any thread."""
    assert [] == _on_another_thread(server, line)


@pytest.mark.parametrize("line", [row[0] for row in BOUND.values()], ids=BOUND)
def test_a_coroutine_has_no_note_about_its_thread(server, line):
    """It runs on the thread of its event loop, as on Triton."""
    assert [] == _on_another_thread(server, line, asynchronous=True)


def test_another_error_has_no_note_about_threads(server):
    """Only an error about threads gets the note."""
    server.define("model", cell("raise ValueError('threads: 3')"), config=CONFIG)

    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(InferenceError) as caught,
    ):
        pool.submit(server.infer, "model", X).result()

    assert [] == caught.value.run.notes


def test_a_bound_object_is_noted_once_per_model(server):
    """Its other instances add no note."""
    stage.values["meet"] = threading.Barrier(3).wait
    execute = "stage.values['meet'](60)\nreturn [reply(x_of(request))]"
    methods = "def initialize(self, args):\n    self.local = threading.local()\n\n"
    server.define("model", cell(execute, methods=methods), config=instances(3))

    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(server.infer, "model", X) for _ in range(3)]

    assert [0, 0, 1] == sorted(len(run.result().notes) for run in runs)


def test_sqlite_on_a_thread_of_the_instances_own(server):
    """The connection is used on its own thread, for any client."""
    server.define("model", cell(QUERY, methods=SQLITE), config=OWN_THREAD)

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(server.infer, "model", X).result()

    assert [[2, 4]] * 2 == [
        run["Y"].tolist() for run in (other, server.infer("model", X))
    ]


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="")


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("config", [CONFIG, OWN_THREAD], ids=["inline", "own thread"])
def test_context_variables_travel_with_the_call(server, config, asynchronous):
    """``execute`` always runs in the caller's context."""
    stage.values["variable"] = VARIABLE
    body = 'stage.seen.append(stage.values["variable"].get())\n' + ANSWER
    source = cell(body, asynchronous=asynchronous)
    server.define("model", source, config=config)
    token = VARIABLE.set("the cell's")
    try:
        server.infer("model", X)
        asyncio.run(server.async_infer("model", X))
    finally:
        VARIABLE.reset(token)

    assert ["the cell's"] * 2 == stage.seen


def test_threads_of_a_model_make_bls_calls(server):
    """Their calls belong to the request that is running."""
    body = """
    answers = []

    def work():
        answers.append(answer_of(ask("double", request).exec()))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [reply(sum(answers))]
    """
    server.define("double", DOUBLE, config=instances(3))
    server.define("model", cell(body), config=CONFIG)

    run = server.infer("model", X)

    assert [6, 12] == run["Y"].tolist()
    assert [0, 0, 0] == [span.parent for span in run.trace.spans[1:]]


def test_a_thread_that_runs_nothing_but_a_bls_call_has_no_line(server):
    """Without a frame of the model the call has no line, but is recorded."""
    called = "stage.events['called'].set()\nreturn [reply(x_of(request))]"
    server.define("called", cell(called), config=CONFIG)
    server.define(
        "threaded",
        cell(
            """
            import _thread
            question = ask("called", request, trace=request.trace())
            _thread.start_new_thread(question.exec, ())
            assert stage.events["called"].wait(60)
            return [reply(x_of(request))]
            """
        ),
        config=CONFIG,
    )
    run = server.infer("threaded", X)

    assert [0, 0] == [span.line for span in run.trace.spans]


def test_a_thread_makes_bls_calls_while_no_execute_runs(server):
    """After ``initialize`` such a call is a run of its own."""
    methods = """
    def initialize(self, args):
        threading.Thread(target=self.work).start()

    def work(self):
        stage.events["go"].wait(60)
        x = pb_utils.Tensor("X", np.ones(2, np.float32))
        request = pb_utils.InferenceRequest(
            model_name="double", inputs=[x], requested_output_names=["Y"]
        )
        stage.seen.append(answer_of(request.exec()).tolist())
        stage.events["done"].set()

    """
    server.define("double", DOUBLE, config=CONFIG)
    server.define(
        "model", cell("pass", methods=textwrap.dedent(methods)), config=CONFIG
    )

    stage.events["go"].set()

    assert stage.events["done"].wait(60)
    assert [[2, 2]] == stage.seen
    assert ["double"] == [
        run.calls[0].model.name for run in parts_of(server).recorder.runs
    ]


def test_a_thread_that_prints_survives_an_ended_request(server, capsys):
    """Only the request's own thread is unwound."""
    body = """
    if self.thread is None:
        def work():
            stage.events["ended"].wait(60)
            print("still here")
            stage.events["printed"].set()
        self.thread = threading.Thread(target=work)
        self.thread.start()
    return None
    """
    server.define("model", cell(body, methods="thread = None\n"), config=CONFIG)
    with pytest.raises(InferenceError):
        server.infer("model", X)

    stage.events["ended"].set()

    assert stage.events["printed"].wait(60)
    assert "still here\n" == capsys.readouterr().out


def test_a_thread_that_still_works_does_not_hold_up_the_end_of_python(tmp_path):
    """All threads are daemons, so a sleeping model does not delay the exit."""
    script = tmp_path / "script.py"
    script.write_text(
        "import threading, numpy as np, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import stage\n"
        "from cells import *\n"
        "from blsnb.inference_server import Server\n"
        "server = Server()\n"
        "slow = cell('stage.sleep()\\nreturn [reply(x_of(request))]')\n"
        "body = 'ask(\"slow\", request).async_exec()\\nreturn [reply(x_of(request))]'\n"
        "server.define('slow', slow, config=CONFIG)\n"
        "server.define('fan', cell(body, asynchronous=True), config=CONFIG)\n"
        "server.infer('fan', {'X': np.ones(1, np.float32)})\n"
        "assert stage.events['asleep'].wait(60)\n"
        "server.close()\n"
        "print('closed')\n"
    )
    tests = str(Path(__file__).parents[2])

    ended = subprocess.run(
        [sys.executable, "-W", "error", str(script), tests],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )

    assert ("closed\n", "", 0) == (ended.stdout, ended.stderr, ended.returncode)


async def ready(value):
    return value


async def ended():
    raise LoopEnded(None)


def broken():
    raise ValueError("no")


HANGS = "Timed out waiting for user-defined is_ready() response"


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (lambda: True, ""),
        (lambda: ready(True), ""),
        (lambda: False, "Model 'm' is not ready (user-defined check failed)."),
        (lambda: 1, "is_ready() must return a boolean value"),
        (lambda: ready(None), "is_ready() must return a boolean value"),
        (ended, HANGS),
    ],
)
def test_why_a_model_is_not_ready(hook, reason):
    """A coroutine runs on the event loop of the instance."""
    threads = InstanceThreads("m_0", own_thread=False)
    try:
        assert reason == not_ready_reason("m", hook, threads)
    finally:
        threads.close()


def test_a_broken_is_ready_is_described():
    """The text is that of the exception, without frames of blsnb."""
    threads = InstanceThreads("m_0", own_thread=False)
    try:
        text = not_ready_reason("m", broken, threads)
    finally:
        threads.close()

    assert text.startswith("ValueError: no\n\nAt:\n")
    assert "test_instance_threads.py" in text
    assert "_is_ready" not in text


def test_a_coroutine_leaves_nothing_in_the_context_of_its_caller(server):
    """It would keep the request, and models that run later would belong to it."""
    server.define("m", cell(ANSWER, asynchronous=True), config=CONFIG)
    server.infer("m", X)

    assert current_execution.get() is None


def test_a_loop_whose_thread_does_not_start_is_closed(monkeypatch):
    """It would keep its descriptors."""
    loop = asyncio.new_event_loop()

    def refuse(thread):
        raise OutOfResourcesError("no thread can be started")

    monkeypatch.setattr(event_loop, "new_loop", lambda: loop)
    monkeypatch.setattr(event_loop, "start_thread", refuse)
    with pytest.raises(OutOfResourcesError):
        EventLoop("m").start()

    assert loop.is_closed()


def test_a_coroutine_that_a_closed_loop_refuses_is_not_kept():
    """Requests may come as long as the model is loaded."""
    loop = EventLoop("m")
    running = loop.start()
    running.call_soon_threadsafe(running.stop)
    loop._thread.join(10)
    ended = []

    async def never():
        raise AssertionError

    loop.start_soon(never(), ended.append, ended.append)

    assert [LoopEnded] == list(map(type, ended))
    assert {} == loop._pending
