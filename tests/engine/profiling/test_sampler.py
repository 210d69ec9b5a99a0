"""Specification of infer(profile=True): samples of the models' own code."""

import asyncio
import json
import math
import sys
import threading

import numpy as np
import pytest
import stage
import waiting
from cells import CONFIG, DOUBLE, calling, cell

import blsnb
from blsnb import InferenceError
from blsnb.engine.profiling.sampler import SampledCalls, Sampler
from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.run_record import RunRecord

# Work is counted in steps, not in time: samples of both functions are of one rate.
SPINS = cell(
    """
    self.more(7)
    self.less(3)
    return [reply(x_of(request))]
    """,
    methods="""
    def more(self, tenths):
        spin(tenths)

    def less(self, tenths):
        spin(tenths)
    """,
).replace(
    "class TritonPythonModel",
    "def spin(tenths):\n    for _ in range(tenths * 1_000_000):\n        pass\n\n\n"
    "class TritonPythonModel",
)
ONE = {"X": np.float32([1])}
DECOUPLED = CONFIG + "model_transaction_policy { decoupled: true }"
SPIN = """
def spin(tenths):
    for _ in range(int(tenths * 1_000_000)):
        pass


"""


def samples_of(run, function):
    """Return the number of samples with a function on their stack."""
    return sum(
        sampled.samples
        for sampled in run.profile.samples.samples
        if function in [frame.function.rpartition(".")[2] for frame in sampled.stack]
    )


def test_a_known_split_appears(server):
    """Two functions share the samples by their work; their interval is measured."""
    server.define("spins", SPINS, config=CONFIG)

    run = server.infer("spins", ONE, profile=True)

    interval_ns = run.profile.samples.interval_ns
    assert 500_000 < interval_ns < 1_000_000_000
    assert run.profile.samples.wanted_ns != interval_ns
    total = run.profile.samples.count
    assert total > 10
    # Within 5 points, and three deviations of a share of so few samples.
    near = 0.05 + 3 * math.sqrt(0.21 / total)
    assert samples_of(run, "more") / total == pytest.approx(0.7, abs=near)
    assert samples_of(run, "less") / total == pytest.approx(0.3, abs=near)


def test_a_profile_without_samples_has_the_requested_interval():
    """It is a millisecond."""
    data = Sampler(RunRecord("1")).stored().data

    assert (1_000_000, 1_000_000) == (data["interval_ns"], data["wanted_ns"])


def test_samples_belong_to_the_innermost_call(server):
    """A parent that waits for its BLS call has none of the child's samples."""
    server.define("spins", SPINS, config=CONFIG)
    server.define("parent", calling("spins"), config=CONFIG)

    run = server.infer("parent", ONE, profile=True)

    counts = {name: each.total() for name, each in run.profile.models().items()}
    child = counts.pop("spins")
    assert child > 10
    assert sum(counts.values()) < 3 + child * 0.1
    assert {"spins"} == {row.model for row in run.profile.lines()[:1]}


def test_an_asynchronous_child_is_sampled_on_its_thread(server):
    """Waiting for it is no work of the parent."""
    gathers = cell(
        """
        results = await asyncio.gather(*[
            ask("spins", request).async_exec() for _ in range(2)])
        return [reply(answer_of(results[0]))]
        """,
        asynchronous=True,
    )
    server.define("spins", SPINS, config=CONFIG)
    server.define("gathers", gathers, config=CONFIG)

    run = server.infer("gathers", ONE, profile=True)

    counts = run.profile.samples.calls()
    calls = [each.id for each in run.trace.spans if each.parent >= 0]
    assert [True, True] == [counts.get(call, 0) > 3 for call in calls]


def test_other_requests_are_not_in_the_profile(server):
    """Only the run that was requested with it has a profile."""
    server.define("double", DOUBLE, config=CONFIG)

    assert server.infer("double", ONE).profile is None


def test_a_failed_request_has_its_profile(server):
    """The switch interval of Python is restored."""
    fails = SPINS.replace("return [reply(x_of(request))]", "raise ValueError('no')")
    server.define("fails", fails, config=CONFIG)
    before = sys.getswitchinterval()

    with pytest.raises(InferenceError) as caught:
        server.infer("fails", ONE, profile=True)

    assert caught.value.run.profile.samples.count > 10
    assert before == sys.getswitchinterval()


def test_a_profile_is_saved_with_its_run(server, tmp_path):
    """A file that is read again has the same lines; speedscope gets a file."""
    server.define("spins", SPINS, config=CONFIG)
    run = server.infer("spins", ONE, profile=True)

    loaded = blsnb.load_run(run.save(tmp_path / "run.blsrun"))
    written = json.loads(run.profile.save(tmp_path / "run.json").read_text())

    assert run.profile.lines() == loaded.profile.lines()
    assert ["spins"] == [each["name"] for each in written["profiles"]]
    hottest = run.profile.lines()[0]
    assert hottest.text.strip() in ("pass", "for _ in range(tenths * 1_000_000):")
    assert hottest.text.strip() in str(run.profile)


def test_coroutines_of_one_event_loop_are_told_apart(server):
    """A sample belongs to the request whose task runs, not to the latest one."""
    shares = cell(
        """
        for _ in range(4):
            spin(int(x_of(request)[0]) / 4)
            await asyncio.sleep(0)
        sender = request.get_response_sender()
        sender.send(reply(x_of(request)))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        """,
        asynchronous=True,
    ).replace("class Triton", f"{SPIN}class Triton")
    parent = cell(
        """
        inputs = [[pb_utils.Tensor("X", np.float32([each]))] for each in (2, 8)]
        answers = await asyncio.gather(*[
            pb_utils.InferenceRequest(
                model_name="shares", inputs=each, requested_output_names=["Y"]
            ).async_exec(decoupled=True)
            for each in inputs
        ])
        for answer in answers:
            for _ in answer:
                pass
        return [reply(x_of(request))]
        """,
        asynchronous=True,
    )
    server.define("shares", shares, config=DECOUPLED)
    server.define("parent", parent, config=CONFIG)

    run = server.infer("parent", ONE, profile=True)

    counts = run.profile.samples.calls()
    # Either request may begin first.
    by_value = {
        np.frombuffer(span.inputs[0].data, np.float32)[0]: counts.get(span.id, 0)
        for span in run.trace.spans
        if span.parent >= 0
    }
    few, many = by_value[2], by_value[8]
    assert many > 10
    assert 0.08 < few / (few + many) < 0.4


def test_tasks_of_a_coroutine_belong_to_its_call(server):
    """What `gather` starts in a model is the work of its request."""
    tasks = cell(
        """
        async def part():
            spin(3)
        await asyncio.gather(part(), part())
        return [reply(x_of(request))]
        """,
        asynchronous=True,
    ).replace("class Triton", f"{SPIN}class Triton")
    server.define("tasks", tasks, config=CONFIG)

    run = server.infer("tasks", ONE, profile=True)

    assert samples_of(run, "part") > 5
    assert [0] == list(run.profile.samples.calls())


def test_threads_of_a_model_belong_to_the_call_that_started_them(server):
    """Also after `execute` has returned, as long as the response is open."""
    threads = cell(
        """
        sender = request.get_response_sender()
        value = x_of(request)
        def answer():
            spin(5)
            sender.send(reply(value))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        threading.Thread(target=answer).start()
        """,
    ).replace("class Triton", f"{SPIN}class Triton")
    server.define("threads", threads, config=DECOUPLED)

    stream = server.stream("threads", ONE, profile=True)
    list(stream)

    assert samples_of(stream.run, "answer") > 5
    assert [0] == list(stream.run.profile.samples.calls())


def test_a_stream_has_its_samples_while_it_runs(server):
    """They are those of the run so far, and the last ones after its end."""
    steps = cell(
        """
        sender = request.get_response_sender()
        for _ in range(2):
            spin(3)
            sender.send(reply(x_of(request)))
            stage.went.wait(60)
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        """,
    ).replace("class Triton", f"{SPIN}class Triton")
    server.define("steps", steps, config=DECOUPLED)
    stage.went = threading.Event()

    stream = server.stream("steps", ONE, profile=True)
    next(stream)
    so_far = stream.run.profile.samples.count
    stage.went.set()
    list(stream)

    assert so_far > 3
    waiting.until(
        lambda: "blsnb profiler" not in [t.name for t in threading.enumerate()]
    )
    assert stream.run.profile.samples.count > so_far
    assert [] == [t for t in stream.run.trace.spans if t.running]


def test_a_coroutine_of_a_notebook_gets_a_profile(server):
    """async_infer and async_stream take the argument, too."""
    server.define("spins", SPINS, config=CONFIG)

    async def both():
        run = await server.async_infer("spins", ONE, profile=True)
        responses = [
            each async for each in server.async_stream("spins", ONE, profile=True)
        ]
        return run, responses

    run, responses = asyncio.run(both())

    assert samples_of(run, "more") > 5
    assert 1 == len(responses)
    waiting.until(lambda: server.runs[-1].profile is not None)
    assert samples_of(server.runs[-1], "more") > 5


def test_what_is_no_frame_ends_a_stack(server):
    """The caller of a frame that had just ended may be any object."""
    server.define("double", DOUBLE, config=CONFIG)
    run = server.infer("double", ONE)

    assert ("", ()) == Sampler(run._record)._model_code(run)


@pytest.mark.parametrize(("usual_s", "sampling_s"), [(0.004, 0.0002), (1e-5, 1e-5)])
def test_threads_switch_more_often_while_any_run_is_sampled(usual_s, sampling_s):
    """A shorter interval of the user stays, and each is restored after the last run."""
    before, intervals = sys.getswitchinterval(), []
    sys.setswitchinterval(usual_s)
    try:
        with Sampler(RunRecord("1")):
            with Sampler(RunRecord("2")):
                intervals.append(sys.getswitchinterval())
            intervals.append(sys.getswitchinterval())
        intervals.append(sys.getswitchinterval())
    finally:
        sys.setswitchinterval(before)

    assert [sampling_s, sampling_s, usual_s] == pytest.approx(intervals)


@pytest.mark.parametrize(("later", "is_found"), [(999, True), (1000, False)])
def test_a_thread_of_a_model_belongs_to_one_of_the_latest_1000_calls(later, is_found):
    """Earlier ones are not searched: a run may have any number of calls."""
    record = RunRecord("1")
    own, other = (
        Call(ModelInfo(name, 1, "python", "cpu", "model", ""), None, 0)
        for name in ("m", "n")
    )
    own.instance, other.instance = "m_0", "n_0"
    record.calls = [own, *[other] * later]

    assert (own if is_found else None) is SampledCalls(record)._background("m_0", 1)


@pytest.mark.parametrize("depth", [200, 201])
def test_the_200_outermost_frames_of_a_stack_are_kept(server, depth):
    """The innermost ones of a deep recursion are left out."""
    source = cell(
        f"""
        self.down({depth - 2})
        return [reply(x_of(request))]
        """,
        methods="""
        def down(self, depth):
            if depth:
                return self.down(depth - 1)
            stage.seen.append(stage.values["look"](sys._getframe()))
        """,
    )
    server.define("deep", f"import sys\n{source}", config=CONFIG)
    stage.values["look"] = Sampler(RunRecord("1"))._model_code
    server.infer("deep", ONE)

    [(_, stack)] = stage.seen
    names = [code.co_name for code, _ in stack]
    assert ["execute", *["down"] * 199] == names
