"""Specification of replay(lines=True): hits and time of each line of the call."""

import sys
import threading

import numpy as np
import pytest
import stage
import waiting
from cells import CONFIG, DOUBLE, calling, cell, line_of

import blsnb
from blsnb.engine.profiling.line_timer import LineTimer
from blsnb.errors import BlsnbError, TraceError
from blsnb.trace.profiles.lines import lines_of

ONE = {"X": np.float32([1])}
DECOUPLED = CONFIG + "model_transaction_policy { decoupled: true }"
HELPERS = """
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def numbers():
    for each in range(3):
        yield each


def fails():
    raise ValueError("no")


"""
MANY = cell(
    """
    fib(5)
    total = sum(numbers())
    try:
        fails()
    except ValueError:
        total += 1
    return [reply(x_of(request))]
    """
).replace("class Triton", f"{HELPERS}class Triton")


def hits_of(run, source, *words):
    """Return the hits of the first lines with some words; 0 if not executed."""
    hits = {(line.file, line.line): line.hits for line in run.lines.lines()}
    return [hits.get(("model.py", line_of(source, each)), 0) for each in words]


def test_recursion_generators_and_exceptions_are_counted(server):
    """Each line has the number of its executions; untouched lines have none."""
    server.define("many", MANY, config=CONFIG)
    run = server.infer("many", ONE)

    timed = run.replay(lines=True).this

    words = "return n\n", "if n < 2", "yield each", "raise ValueError", "total += 1"
    assert [8, 15, 3, 1, 1] == hits_of(timed, MANY, "return n", *words[1:])
    assert [] == run.replay(lines=True).changes
    assert run.lines is None
    [whole] = [each for each in timed.lines.lines() if "fib(5)" in each.text]
    [inner] = [each for each in timed.lines.lines() if "return fib" in each.text]
    assert whole.ms >= inner.ms > 0
    assert "15 " in next(row for row in str(timed.lines).splitlines() if "n < 2" in row)


def test_time_in_child_calls_is_apart(server):
    """Waiting for a BLS call is no work of the line that made it."""
    sleeps = cell("time.sleep(0.05)\nreturn [reply(x_of(request))]")
    parent = calling("sleeps")
    server.define("sleeps", sleeps, config=CONFIG)
    server.define("parent", parent, config=CONFIG)
    run = server.infer("parent", ONE)

    timed = run.replay(lines=True).this.lines

    [line] = [each for each in timed.lines() if ".exec()" in each.text]
    assert line.calls_ms >= 50
    assert line.calls_ms > line.ms
    assert "sleeps" not in {each.text.strip() for each in timed.lines()}
    assert not any("time.sleep" in each.text for each in timed.lines())


def test_a_child_call_is_timed_alone(server):
    """The recorded call of a model is a client request when it is replayed."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("parent", calling("double"), config=CONFIG)
    run = server.infer("parent", ONE)

    timed = run.replay("double", lines=True).this.lines

    [line] = [each for each in timed.lines() if "x_of(request) * 2" in each.text]
    assert (1, line_of(DOUBLE, "* 2")) == (line.hits, line.line)


def test_a_coroutine_is_timed_without_what_it_awaits(server):
    """On the thread of its event loop, with the tasks that it starts."""
    source = cell(
        """
        async def part():
            await asyncio.sleep(0.05)
            return 1
        parts = await asyncio.gather(part(), part())
        answer = await ask("double", request).async_exec()
        return [reply(answer_of(answer))]
        """,
        asynchronous=True,
    )
    server.define("double", DOUBLE, config=CONFIG)
    server.define("waits", source, config=CONFIG)
    run = server.infer("waits", ONE)

    timed = run.replay(lines=True).this

    assert [2, 2, 1, 1] == hits_of(
        timed, source, "asyncio.sleep", "return 1", "gather(part", "async_exec"
    )
    slept = sum([each.ms for each in timed.lines.lines() if "sleep(0.05)" in each.text])
    assert slept < 100


def test_a_decoupled_model_and_its_threads_are_timed(server):
    """Lines of a thread that the model starts belong to the call."""
    source = cell(
        """
        sender = request.get_response_sender()
        value = x_of(request)
        def answer():
            for each in range(3):
                sender.send(reply(value))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        thread = threading.Thread(target=answer)
        thread.start()
        thread.join()
        """
    )
    server.define("threads", source, config=DECOUPLED)
    stream = server.stream("threads", ONE)
    list(stream)
    waiting.until(lambda: not stream.run.trace.running)

    timed = stream.run.replay(lines=True).this

    assert [3, 1] == hits_of(timed, source, "sender.send(reply", "thread.join()")


def test_lines_after_the_final_flag_are_timed(server):
    """The caller has its response long before."""
    source = cell(
        """
        sender = request.get_response_sender()
        final = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
        sender.send(reply(x_of(request)), final)
        for each in range(20_000):
            value = each
        """
    )
    server.define("tail", source, config=DECOUPLED)
    stream = server.stream("tail", ONE)
    list(stream)
    waiting.until(lambda: not stream.run.trace.running)

    timed = stream.run.replay(lines=True).this

    assert [20_000] == hits_of(timed, source, "value = each")


def test_ctrl_c_during_the_lines_after_the_response_ends_the_measurement(
    server, ctrl_c
):
    """The next replay times lines again."""
    source = cell(
        """
        sender = request.get_response_sender()
        final = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
        sender.send(reply(x_of(request)), final)
        if stage.events["waits"].is_set():
            stage.events["asleep"].set()
            stage.events["go on"].wait(30)
        """
    )
    server.define("tail", source, config=DECOUPLED)
    stream = server.stream("tail", ONE)
    list(stream)
    waiting.until(lambda: not stream.run.trace.running)
    stage.events["waits"].set()

    ctrl_c.expect(lambda: stream.run.replay(lines=True), when=awaits_rest)

    stage.events["waits"].clear()
    stage.events["go on"].set()
    timed = stream.run.replay(lines=True).this
    assert [1, 0] == hits_of(timed, source, "sender.send(reply", '"go on"')


def awaits_rest():
    """Whether the main thread waits for lines after the response."""
    frame = sys._current_frames()[threading.main_thread().ident]
    while frame is not None and frame.f_code is not LineTimer._await_rest.__code__:
        frame = frame.f_back
    return frame is not None


def test_helpers_of_the_folder_have_their_source(server, tmp_path):
    """Also after the run was saved and read again."""
    source = cell("return [reply(helper.twice(x_of(request)))]").replace(
        "import asyncio", "import asyncio\nimport helper"
    )
    helper = "def twice(x):\n    return x * 2\n"
    server.define("helped", source, config=CONFIG, files={"helper.py": helper})
    timed = server.infer("helped", ONE).replay(lines=True).this

    loaded = blsnb.load_run(timed.save(tmp_path / "run.blsrun"))

    [line] = [each for each in loaded.lines.lines() if each.file == "helper.py"]
    assert ("helper.py:2", 1, "    return x * 2") == (line.place, line.hits, line.text)
    assert timed.lines.lines() == loaded.lines.lines()
    assert str(timed.lines).startswith("model.py")
    assert "<LineProfile of call 0 (helped)" in repr(timed.lines)


def test_a_failed_call_has_its_lines(server):
    """They show how far it came."""
    source = cell("value = 1\nraise ValueError('no')")
    server.define("fails", source, config=CONFIG)
    with pytest.raises(blsnb.InferenceError) as caught:
        server.infer("fails", ONE)

    timed = caught.value.run.replay(lines=True).this

    assert [1, 1] == hits_of(timed, source, "value = 1", "raise ValueError")
    assert "ValueError" in timed.error


def test_a_model_without_python_code_is_refused(server):
    """One sentence says why."""
    server.define("double", DOUBLE, config=CONFIG)
    run = server.infer("double", ONE)
    server.remove("double")

    with pytest.raises(BlsnbError, match="'double' is not a loaded model with a model"):
        run.replay(lines=True)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="tracers do not exclude it")
def test_an_active_tracer_is_named_and_stays(server):
    """A debugger or coverage is neither replaced nor crashed."""

    def tracer(*_):
        return None

    server.define("double", DOUBLE, config=CONFIG)
    run = server.infer("double", ONE)
    sys.settrace(tracer)
    try:
        with pytest.raises(BlsnbError) as refused:
            run.replay(lines=True)
        owner = __name__.partition(".")[0]
        assert (
            f"lines=True needs the trace function of Python, which {owner} uses: end "
            "that (a debugger, coverage), and replay again"
        ) == str(refused.value)
        assert tracer is sys.gettrace()
    finally:
        sys.settrace(None)
    assert run.replay(lines=True).this.lines is not None


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
def test_taken_tools_are_named_and_stay(server):
    """Tools of sys.monitoring go on."""
    server.define("double", DOUBLE, config=CONFIG)
    run = server.infer("double", ONE)
    # Interrupts of an earlier test may have taken one.
    free = [tool for tool in (4, 3) if sys.monitoring.get_tool(tool) is None]
    for tool in free:
        sys.monitoring.use_tool_id(tool, f"tool {tool}")
    names = [sys.monitoring.get_tool(tool) for tool in (4, 3)]
    try:
        with pytest.raises(BlsnbError) as refused:
            run.replay(lines=True)
        assert (
            "lines=True needs a tool number of sys.monitoring, and "
            f"{', '.join(names)} use them: end one of these tools, and replay again"
        ) == str(refused.value)
        assert names == [sys.monitoring.get_tool(tool) for tool in (4, 3)]
    finally:
        for tool in free:
            sys.monitoring.free_tool_id(tool)
    assert run.replay(lines=True).this.lines is not None


def test_one_replay_at_a_time_has_its_lines_timed(server):
    """A replay within one is refused, and the next one is not."""
    stage.values["again"] = list
    body = "stage.values['again']()\nreturn [reply(x_of(request))]"
    server.define("m", cell(body), config=CONFIG)
    server.define("double", DOUBLE, config=CONFIG)
    run, other = server.infer("m", ONE), server.infer("double", ONE)
    refused = []

    def again():
        with pytest.raises(BlsnbError) as caught:
            other.replay(lines=True)
        refused.append(str(caught.value))

    stage.values["again"] = again
    run.replay(lines=True)

    assert ["lines=True: another replay is timing lines; wait for it"] == refused
    assert other.replay(lines=True).this.lines is not None


def test_nothing_is_traced_afterwards(server):
    """The instance calls its model as before, and threads have no trace function."""
    server.define("many", MANY, config=CONFIG)
    run = server.infer("many", ONE)
    before = sys.gettrace(), threading.gettrace()

    run.replay(lines=True)
    stage.seen = []
    server.define(
        "traced",
        cell(
            "stage.seen.append(__import__('sys').gettrace())\n"
            "return [reply(x_of(request))]"
        ),
        config=CONFIG,
    )
    server.infer("traced", ONE)

    assert before == (sys.gettrace(), threading.gettrace())
    assert [None] == stage.seen


def test_damaged_lines_are_refused(server):
    """A forged file causes an error of blsnb, and no other."""
    server.define("double", DOUBLE, config=CONFIG)
    trace = server.infer("double", ONE).replay(lines=True).this.trace
    [stored] = trace.profiles

    for data in (
        {},
        {"files": 3},
        {"files": [{"file": "", "source": "", "lines": [[0, 1, 1]]}]},
    ):
        object.__setattr__(trace, "profiles", (stored._replace(data=data),))
        with pytest.raises(TraceError, match="the lines of the run are damaged"):
            lines_of(trace)
    object.__setattr__(trace, "profiles", (stored._replace(call=7),))
    with pytest.raises(TraceError, match="there is no such call"):
        lines_of(trace)
