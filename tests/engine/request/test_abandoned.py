"""Models that continue after Ctrl-C has ended their request: interrupted, and shown."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, OWN_THREAD, cell, instances
from waiting import until

from blsnb.engine.request.interrupts import Repeater, in_model
from blsnb.errors import InferenceError
from blsnb.parts.server_parts import parts_of

from ..loops import FAN_OUT, STOP, X

STUBBORN = """
if x_of(request).flat[0] < 0:
    while True:
        try:
            stage.events["asleep"].set()
            while True:
                stage.values["turns"] = stage.values.get("turns", 0) + 1
        except BaseException:
            stage.seen.append("swallowed")
return [reply(x_of(request) * 2)]
"""
HOLDING = """
if x_of(request)[0] < 0:
    stage.events["asleep"].set()
    stage.values["lock"].acquire()
return [reply(x_of(request) * 2)]
"""
QUEUED = f"{CONFIG}\nmax_batch_size: 4\ndynamic_batching {{ }}\n"


def running(server, name: str) -> tuple[str, ...]:
    """Return what still runs of a model."""
    return server.model(name).running


def interrupt_fan(server, ctrl_c, when=lambda: True) -> None:
    """Interrupt a fan-out; its loops share one processor with the main thread."""
    ctrl_c.press(when=when)
    with pytest.raises(KeyboardInterrupt):
        server.infer("fan", STOP)


def names() -> list[str]:
    """Return the names of all threads."""
    return [thread.name for thread in threading.enumerate()]


@pytest.fixture
def lock():
    """A lock that a model waits for; released at the end."""
    stage.values["lock"] = lock = threading.Lock()
    lock.acquire()
    yield lock
    if lock.locked():
        lock.release()


def test_stubborn_models_on_the_threads_of_async_exec_end(server, ctrl_c):
    """They are interrupted after their caller is back, again and again."""
    server.define("sleeper", cell(STUBBORN), config=instances(2))
    server.define("fan", FAN_OUT, config=CONFIG)

    interrupt_fan(server, ctrl_c)

    assert until(lambda: not running(server, "sleeper"))
    assert stage.seen
    turns = stage.values["turns"]
    assert [2, 4] == server.infer("sleeper", X)["Y"].tolist()
    assert turns == stage.values["turns"]


def test_the_thread_that_interrupts_ends_with_the_last_execution(server, ctrl_c):
    """There is one only as long as a model runs without a client."""
    server.define("sleeper", cell(STUBBORN), config=CONFIG)
    server.define("fan", FAN_OUT, config=CONFIG)

    interrupt_fan(server, ctrl_c)

    assert until(lambda: "blsnb interrupts" not in names())


@pytest.mark.parametrize(
    "options", [{"client_timeout_s": 60}, {}], ids=["deadline", "own thread"]
)
def test_a_stubborn_model_on_a_worker_ends(server, ctrl_c, options):
    """Also where the client waits with a deadline, or the instance has a thread."""
    config = CONFIG if options else OWN_THREAD
    server.define("stubborn", cell(STUBBORN), config=config)

    ctrl_c.expect(lambda: server.infer("stubborn", STOP, **options))

    assert until(lambda: not running(server, "stubborn"))
    assert [2, 4] == server.infer("stubborn", X)["Y"].tolist()


@pytest.fixture
def traced():
    """All threads are traced, as by a debugger."""

    def trace(frame, event, argument):
        return trace

    before = sys.gettrace(), threading.gettrace()
    threading.settrace(trace)
    sys.settrace(trace)
    yield
    sys.settrace(before[0])
    threading.settrace(before[1])


@pytest.mark.usefixtures("traced")
def test_a_stubborn_model_ends_while_its_thread_is_traced(server, ctrl_c):
    """It is interrupted in its Python code, each time for a moment."""
    server.define("stubborn", cell(STUBBORN), config=OWN_THREAD)

    ctrl_c.expect(lambda: server.infer("stubborn", STOP))

    assert until(lambda: not running(server, "stubborn"))


def test_an_execution_that_goes_on_is_shown_after_an_unload(server, ctrl_c, lock):
    """The run says when it ended."""
    server.define("holder", cell(HOLDING, asynchronous=True), config=CONFIG)
    ctrl_c.expect(lambda: server.infer("holder", STOP))
    record = parts_of(server).recorder.runs[-1]
    (text,) = running(server, "holder")
    assert "is still running line " in text

    server.unload("holder")

    assert (text,) == running(server, "holder")
    assert "still running line " in record.calls[0].error
    reading = parts_of(server).measurements.reading()
    assert [text] == [each.reason.partition("; ")[0] for each in reading.versions]
    lock.release()
    assert until(lambda: not running(server, "holder"))
    assert until(lambda: "ran on line " in record.calls[0].error)


NOT_RENEWED = (
    "Failed to process the request(s) for model 'holder', message: ZeroDivisionError: "
    "division by zero\n"
)


def test_a_request_fails_while_no_other_instance_can_be_made(server, ctrl_c, lock):
    """It does not wait for the busy one."""
    server.define("holder", cell(HOLDING, asynchronous=True), config=CONFIG)
    ctrl_c.expect(lambda: server.infer("holder", STOP))
    folder = parts_of(server).repository.private("holder").version_dir(1)
    (folder / "model.py").write_text("1 / 0")

    with pytest.raises(InferenceError) as caught:
        server.infer("holder", X)
    assert caught.value.message.startswith(NOT_RENEWED)


def test_a_stream_fails_while_no_other_instance_can_be_made(server, ctrl_c, lock):
    """Its only response is the error."""
    body = HOLDING.partition("return")[0]
    decoupled = "model_transaction_policy { decoupled: true }"
    server.define("holder", cell(body), config=f"{CONFIG}\n{decoupled}")
    ctrl_c.expect(lambda: list(server.stream("holder", STOP)))
    folder = parts_of(server).repository.private("holder").version_dir(1)
    (folder / "model.py").write_text("1 / 0")

    [response] = server.stream("holder", X)

    assert response.error.startswith(NOT_RENEWED)


def test_each_client_of_a_batch_fails_while_no_other_instance_can_be_made(
    server, ctrl_c, lock
):
    """None of them waits for the busy one."""
    config = f"""{CONFIG} max_batch_size: 2 dynamic_batching {{
    preferred_batch_size: 2 max_queue_delay_microseconds: 60000000 }}"""
    server.define("holder", cell(HOLDING, asynchronous=True), config=config)
    ctrl_c.expect(lambda: server.infer("holder", {"X": np.float32([[-1], [-1]])}))
    folder = parts_of(server).repository.private("holder").version_dir(1)
    (folder / "model.py").write_text("1 / 0")

    with ThreadPoolExecutor(2) as pool:
        one = {"X": np.float32([[1]])}
        asked = [pool.submit(server.infer, "holder", one) for _ in range(2)]
        errors = [each.exception(60) for each in asked]
    messages = [error.message[: len(NOT_RENEWED)] for error in errors]
    assert [NOT_RENEWED, NOT_RENEWED] == messages


def test_a_removed_model_is_listed_until_it_ends(server, ctrl_c, lock):
    """Its state is REMOVED, and its line of the list says what runs."""
    server.define("holder", cell(HOLDING, asynchronous=True), config=CONFIG)
    server.define("double", DOUBLE, config=CONFIG)
    ctrl_c.expect(lambda: server.infer("holder", STOP))

    server.remove("holder")

    _, removed = server.models()
    assert ("holder", "REMOVED") == (removed.name, removed.state)
    assert "is still running line " in removed.running[0]
    lock.release()
    assert until(lambda: ["double"] == [each.name for each in server.models()])


def test_a_request_of_an_unloaded_version_is_interrupted(server, ctrl_c):
    """The catalog forgets a version; what it still runs is ended all the same."""
    server.define("sleeper", cell(STUBBORN), config=CONFIG)
    server.define("fan", FAN_OUT, config=CONFIG)

    def unload() -> bool:
        server.unload("sleeper")
        return True

    interrupt_fan(server, ctrl_c, unload)

    assert until(lambda: not running(server, "sleeper"))
    assert stage.seen


def test_a_closing_server_says_what_still_runs(server, ctrl_c, lock, caplog):
    """As a kernel does that restarts."""
    server.define("holder", cell(HOLDING, asynchronous=True), config=CONFIG)
    ctrl_c.expect(lambda: server.infer("holder", STOP))

    server.close()

    assert "is still running line " in caplog.text


@pytest.mark.parametrize("wait", ["sleep(60)", "sleep(0.001)", "Event().wait()"])
def test_a_coroutine_that_swallows_its_cancellation_ends(server, ctrl_c, wait):
    """Also one that waits again after each exception."""
    body = f"""
    while x_of(request)[0] < 0:
        try:
            stage.events["asleep"].set()
            await asyncio.{wait}
        except BaseException:
            pass
    return [reply(x_of(request) * 2)]
    """
    server.define("stubborn", cell(body, asynchronous=True), config=CONFIG)

    ctrl_c.expect(lambda: server.infer("stubborn", STOP))

    assert until(lambda: not running(server, "stubborn"))
    assert [2, 4] == server.infer("stubborn", X)["Y"].tolist()
    # Python closes a coroutine that it collects: that would never end either.
    gc.collect()


def test_a_task_that_swallows_its_cancellation_ends_with_its_instance(server):
    """It would run on wherever Python collects it, for example in a cell."""
    body = """
    async def forever():
        while True:
            try:
                await asyncio.sleep(60)
            except BaseException:
                stage.seen.append("swallowed")
    self.task = asyncio.create_task(forever())
    await asyncio.sleep(0)
    return [reply(x_of(request))]
    """
    server.define("task", cell(body, asynchronous=True), config=CONFIG)
    server.infer("task", X)

    server.unload("task")

    gc.collect()
    assert "swallowed" in stage.seen
    assert "task_0" not in names()


def test_a_debugger_works_while_native_code_goes_on(server, ctrl_c, lock):
    """On Python 3.11 a pending exception stops each traced function at its start."""
    server.define("holder", cell(HOLDING, asynchronous=True), config=CONFIG)
    ctrl_c.expect(lambda: server.infer("holder", STOP))
    before, seen = sys.gettrace(), []

    def trace(frame, event, argument):
        seen.append(event)
        return trace

    sys.settrace(trace)
    try:
        assert until(lambda: len(seen) > 100)
    finally:
        sys.settrace(before)

    assert running(server, "holder")
    lock.release()
    assert until(lambda: not running(server, "holder"))


def test_finalize_is_interrupted_once_only(server, ctrl_c):
    """It has to release what the model holds: the rest of it completes."""
    hook = """
def finalize(self):
    import time
    start = time.monotonic()
    def spin():
        stage.events["asleep"].set()
        while time.monotonic() - start < 0.8:
            pass
    while time.monotonic() - start < 0.8:
        try:
            spin()
        except BaseException as error:
            stage.seen.append(type(error).__name__)
    stage.seen.append("finalized")
"""
    source = cell("return [reply(x_of(request))]", methods=hook)
    server.define("slow", source, config=CONFIG)
    ctrl_c.press()

    with contextlib.suppress(KeyboardInterrupt):
        server.unload("slow")

    assert "finalized" in stage.seen
    assert stage.seen.count("KeyboardInterrupt") <= 1


def test_no_repeat_is_raised_within_locks_of_the_engine():
    """A frame of the engine is innermost, or one that it calls."""
    found = []

    def look(folder: str) -> None:
        frame = compile("found.append(sys._getframe())", f"{folder}/x.py", "exec")
        import sys

        exec(frame, {"found": found, "sys": sys})

    import blsnb.engine.instance.pool as pool

    look("/models/a/1")
    look(pool.__file__.removesuffix("/pool.py"))
    model, engine = found
    folders = ["/models/a"]

    assert in_model(model, folders, is_repeated=True)
    assert not in_model(engine, folders, is_repeated=True)
    assert not in_model(engine, folders, is_repeated=False)


def test_a_repeater_that_is_closed_sends_nothing_more():
    """Its thread has ended, also if it is started afterwards."""
    count = threading.active_count()
    repeater = Repeater()
    repeater.start()

    repeater.close()
    repeater.start()

    assert not repeater.take_sent()
    assert count == threading.active_count()
    assert repeater._ended is not None
    assert repeater._ended.wait(0)


def test_a_batch_that_all_clients_have_left_is_interrupted(server, ctrl_c):
    """It runs on a thread of the scheduler."""
    server.define("sleeper", cell(STUBBORN), config=QUEUED)

    ctrl_c.expect(lambda: server.infer("sleeper", {"X": STOP["X"][None]}))

    assert until(lambda: not running(server, "sleeper"))
