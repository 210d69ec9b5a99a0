"""A client that leaves: at its deadline, by cancelling, or silently."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest
import stage
from cells import CONFIG, cell
from waiting import until

from blsnb.engine.request.deferred import DeferredResponse
from blsnb.engine.request.lifetime import RootRequest, TooLate
from blsnb.engine.request.streaming import StreamInflight
from blsnb.errors import InferenceError, WouldHang
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.results.response import Response
from blsnb.results.run import Run
from blsnb.trace.events import Call, CallFlag, ModelInfo
from blsnb.trace.responses import ResponseLog
from blsnb.trace.run_record import RunRecord

DECOUPLED = f"model_transaction_policy {{ decoupled: true }}\n{CONFIG}"
X = {"X": [1.0, 2.0]}
SENDER = "sender = request.get_response_sender()\n"
FIRST = f"{SENDER}sender.send(reply(x_of(request)))\n"
FLAG = "sender.send(flags=1)\n"
UNTIL_CANCELLED = "while not sender.is_cancelled():\n    pass\n"
# Both kinds of model: they never answer, and so do not end by themselves.
SILENT = {
    "sleeps": "stage.sleep()",
    "keeps its sender": 'stage.values["kept"] = request.get_response_sender()',
}
TOO_LATE = ("DEADLINE_EXCEEDED", "Deadline Exceeded")
CANCELLED = ("CANCELLED", "Locally cancelled by application!")


def failure(call: Callable[[], object]) -> InferenceError:
    """Return the error that a client receives."""
    with pytest.raises(InferenceError) as caught:
        call()
    return caught.value


def code_and_text(error: InferenceError) -> tuple[str, str]:
    """Return the code and the text of an error."""
    return error.code, error.message


def flags_of(run: Run) -> CallFlag:
    """Return the flags of the client request, except `ASKED_CANCELLED`."""
    return run.trace.spans[0].flags & ~CallFlag.ASKED_CANCELLED


def ways(server: Server, late_s: float) -> dict[str, Callable[[str], object]]:
    """Return every way to wait for a model with a deadline."""
    late: dict[str, Any] = {"client_timeout_s": late_s}

    async def read(name: str) -> None:
        async for _ in server.async_stream(name, X, **late):
            pass

    return {
        "infer": lambda name: server.infer(name, X, **late),
        "async_infer": lambda name: asyncio.run(server.async_infer(name, X, **late)),
        "stream": lambda name: list(server.stream(name, X, **late)),
        "async_stream": lambda name: asyncio.run(read(name)),
    }


def left(
    server: Server, way: str, source: str, config: str, begun: Callable[[Run], bool]
) -> InferenceError:
    """Return the error of a client that leaves a running model.

    On a busy machine it may have left before: another one has more patience.
    """
    for number, late_s in enumerate((0.05, 0.5, 5, 30)):
        name = f"silent{number}"
        server.define(name, source, config=config)
        error = failure(lambda s=late_s, name=name: ways(server, s)[way](name))
        if begun(error.run):
            break
    return error


@pytest.mark.parametrize("way", ["infer", "async_infer", "stream", "async_stream"])
@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_a_deadline_ends_every_wait_for_a_model(server, body, way):
    """The run is cancelled, and still running."""
    begun = 'stage.events["begun"].set()\n'
    source = cell(f"{begun}{body}\nreturn [None]")

    error = left(server, way, source, CONFIG, lambda _: stage.events["begun"].is_set())
    assert (TOO_LATE, "Deadline Exceeded") == (code_and_text(error), error.run.error)
    assert CallFlag.CANCELLED | CallFlag.RUNNING == flags_of(error.run)


@pytest.mark.parametrize("way", ["stream", "async_stream"])
@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_a_deadline_ends_every_wait_for_a_response(server, body, way):
    """A first response does not change this."""
    source = cell(FIRST + body)

    error = left(server, way, source, DECOUPLED, lambda run: bool(run.responses))
    assert (TOO_LATE, 1) == (code_and_text(error), len(error.run.responses))


def test_a_deadline_ends_the_wait_for_an_instance(server):
    """The request stays in the queue, as with Triton's default scheduler."""
    body = "stage.seen.append(x_of(request)[0])\nif x_of(request)[0] == 1:\n    {}"
    source = cell(body.format("stage.sleep()") + "\nreturn [reply(x_of(request))]")
    server.define("busy", source, config=CONFIG)
    failure(lambda: server.infer("busy", X, client_timeout_s=0.05))
    assert stage.events["asleep"].wait(60)

    late = failure(lambda: server.infer("busy", {"X": [2.0]}, client_timeout_s=0.5))
    assert TOO_LATE == code_and_text(late)
    assert not late.run.trace.spans[0].execution

    stage.events["end"].set()
    server.infer("busy", {"X": [3.0]})
    assert [1, 2, 3] == stage.seen


def test_a_model_that_continues_ends_its_run(server):
    """The trace is cancelled, and complete once the model has responded."""
    source = cell("stage.sleep()\nreturn [reply(x_of(request))]")
    server.define("slow", source, config=CONFIG)
    error = failure(lambda: server.infer("slow", X, client_timeout_s=0.05))
    assert stage.events["asleep"].wait(60)

    stage.events["end"].set()
    server.infer("slow", X)
    assert CallFlag.CANCELLED == flags_of(error.run)
    assert 2 == server.statistics("slow")["model_stats"][0]["inference_count"]


def test_ctrl_c_ends_the_wait_before_the_deadline(server, ctrl_c):
    """The model, on another thread, is not interrupted."""
    server.define("slow", cell("stage.sleep()\nreturn [None]"), config=CONFIG)

    ctrl_c.expect(lambda: server.infer("slow", X, client_timeout_s=60))


def test_the_run_of_an_interrupted_stream_has_an_error(server, ctrl_c):
    """It is that of any request that Ctrl-C ended."""
    server.define("slow", cell("stage.sleep()"), config=DECOUPLED)
    stream = server.stream("slow", X)

    ctrl_c.expect(lambda: next(stream))
    assert "interrupted" == stream.run.error


def test_a_hang_is_reported_before_the_deadline(server):
    """Waiting would not help."""
    server.define("silent", cell("return [None]"), config=CONFIG)

    error = failure(lambda: server.infer("silent", X, client_timeout_s=60))
    assert isinstance(error, WouldHang)
    assert flags_of(error.run) & CallFlag.ERROR


def test_a_refusal_has_its_text_with_a_deadline_too(server):
    """A refused request never waits."""
    server.define("stream", cell(FIRST + FLAG), config=DECOUPLED)
    for name, code in (("nobody", "NOT_FOUND"), ("stream", "UNSUPPORTED")):
        patient = failure(lambda name=name: server.infer(name, X, client_timeout_s=60))
        assert code == patient.code
        assert code_and_text(patient) == code_and_text(
            failure(lambda name=name: server.infer(name, X))
        )


def sent(*numbers: int, final: bool = False) -> StreamInflight:
    """Return a stream with numbered responses of a model."""
    call = Call(ModelInfo("m", 1, "python", "cpu", "model", ""), None, 0)
    call.responses = ResponseLog(10, None)
    root = RootRequest(RunRecord(""), 60)
    inflight = StreamInflight(RequestMessage("m", ()), root, call)
    for number in numbers:
        inflight.send(
            ResponseMessage(code=str(number)), final and number == numbers[-1]
        )
    return inflight


@pytest.mark.parametrize("late", ["the final flag", "execute"])
def test_a_stream_is_complete_after_execute_and_the_final_flag(late):
    """The flag may come from a thread of the model, after ``execute`` has returned."""
    inflight = sent(0)
    completed = []
    inflight.then(lambda: completed.append(late))
    steps = [lambda: inflight.send(None, final=True), inflight.over]
    if late == "the final flag":
        steps.reverse()

    steps[0]()
    assert [] == completed
    steps[1]()
    assert [late] == completed


def test_unread_responses_are_lost_at_the_deadline():
    """A client of gRPC loses them, too; a known end remains."""
    long_ago = 1
    inflight = sent(0, 1, final=True)
    assert "0" == inflight.get(0).code

    with pytest.raises(TooLate):
        inflight.get(0, long_ago)
    assert "1" == inflight.get(1).code
    assert inflight.get(2, long_ago) is None
    with pytest.raises(TooLate):
        sent().get(0, long_ago)


def test_a_response_after_the_deadline_is_too_late():
    """It is too late even if it came before the client woke up."""
    long_ago = 1
    answered = DeferredResponse(RootRequest(RunRecord(""), 60))
    answered.answer(ResponseMessage())

    assert answered.get(0).error is None
    with pytest.raises(TooLate):
        answered.get(0, long_ago)


def test_responses_are_numbered_however_many_were_read():
    """Responses before the requested one are dropped."""
    inflight = sent(*range(100))

    assert ["0", "0", "1"] == [inflight.get(n).code for n in (0, 0, 1)]
    assert "40" == inflight.get(40).code
    assert (60, 100) == (len(inflight._unread), inflight.sent()[0])


def test_a_cancelled_stream_has_no_further_responses(server):
    """Each further read reports it; the model can check and continues."""
    source = cell(f"{FIRST}{UNTIL_CANCELLED}stage.seen.append(1)\n{FIRST}{FLAG}")
    server.define("model", source, config=DECOUPLED)
    stream = server.stream("model", X)
    next(stream)
    stream.cancel()

    assert [CANCELLED] * 2 == [
        code_and_text(failure(lambda: next(stream))) for _ in range(2)
    ]
    finish(server)
    assert (CallFlag.CANCELLED | CallFlag.DECOUPLED) == flags_of(stream.run)
    assert 3 == stream.run.trace.spans[0].response_count


def finish(server: Server) -> None:
    """Wait until the only instance is free and its records are complete."""
    server.close()


def test_cancelling_wakes_the_reader(server):
    """A client of gRPC can cancel on another thread, too."""
    server.define("silent", cell(f"{FIRST}stage.sleep()\n{FLAG}"), config=DECOUPLED)
    stream = server.stream("silent", X)
    next(stream)
    timer = threading.Timer(0.02, stream.cancel)
    timer.start()

    assert CANCELLED == code_and_text(failure(lambda: next(stream)))
    timer.join()


def test_cancelling_wakes_the_reader_of_a_single_response(server):
    """With a deadline a model that is not decoupled can be left."""
    server.define("silent", cell("stage.sleep()\nreturn [None]"), config=CONFIG)
    stream = server.stream("silent", X, client_timeout_s=60)
    timer = threading.Timer(0.02, stream.cancel)
    timer.start()

    assert CANCELLED == code_and_text(failure(lambda: next(stream)))
    timer.join()


def test_a_stream_that_was_read_to_its_end_is_not_cancelled(server):
    """Neither a late cancellation nor dropping the stream has an effect."""
    server.define("model", cell(FIRST + FLAG), config=DECOUPLED)
    stream = server.stream("model", X)
    list(stream)
    stream.cancel()

    assert [] == list(stream)
    assert CallFlag.DECOUPLED == flags_of(stream.run)


def dropped(stream: Any) -> Run:
    """Read a response and drop the stream; return the run."""
    next(stream)
    return stream.run


def closed(stream: Any) -> None:
    """Read a response of an asynchronous stream and close it."""

    async def main() -> None:
        await anext(stream)
        await stream.aclose()

    asyncio.run(main())


def test_a_dropped_stream_is_cancelled(server):
    """It is like a client that disconnects; the model ends the run."""
    source = cell(f"{FIRST}{UNTIL_CANCELLED}stage.seen.append(1)\n{FLAG}")
    server.define("model", source, config=DECOUPLED)
    run = dropped(server.stream("model", X))
    finish(server)

    assert [1] == stage.seen
    assert (CallFlag.CANCELLED | CallFlag.DECOUPLED) == flags_of(run)


def test_a_closed_asynchronous_stream_is_cancelled(server):
    """A loop that ends early needs no more responses."""
    source = cell(f"{FIRST}{UNTIL_CANCELLED}stage.seen.append(1)\n{FLAG}")
    server.define("model", source, config=DECOUPLED)
    closed(server.async_stream("model", X))
    (record,) = parts_of(server).recorder.runs
    finish(server)

    assert [1] == stage.seen
    assert CallFlag.CANCELLED & record.calls[0].flags
    assert record.ended


def test_a_dropped_stream_whose_sender_is_dropped_later_ends(server):
    """No response can come."""
    server.define("model", cell(f"{FIRST}stage.sleep('drop')"), config=DECOUPLED)
    run = dropped(server.stream("model", X))
    assert run.trace.running

    stage.events["drop"].set()
    finish(server)
    assert (CallFlag.CANCELLED | CallFlag.DECOUPLED) == flags_of(run)
    assert "sent no final flag" in run.notes[-1]


def test_a_stream_without_a_sender_ends_when_it_is_dropped(server):
    """Only the model held the sender, and it is unloaded."""
    server.define("model", cell(FIRST + "self.queued = sender"), config=DECOUPLED)
    forget = cell("return [reply(x_of(request))]")
    server.define("other", forget, config=CONFIG)
    stream = server.stream("model", X)
    next(stream)
    run = stream.run
    del stream
    server.unload("model")
    gc.collect()

    assert not run.trace.running
    assert (CallFlag.CANCELLED | CallFlag.DECOUPLED) == flags_of(run)


def test_an_unread_stream_ends_when_it_would_hang(server):
    """Its only instance calls the model itself after the client has left."""
    asks = 'next(ask("model", request).exec(decoupled=True))'
    source = cell(f"{FIRST}stage.sleep('left')\n{asks}\n{FLAG}")
    server.define("model", source, config=DECOUPLED)
    run = dropped(server.stream("model", X))
    (record,) = parts_of(server).recorder.runs
    ended = threading.Event()
    parts_of(server).recorder.observe(lambda run, call: call is None and ended.set())

    stage.events["left"].set()
    assert ended.wait(60)
    assert record.ended
    assert not run.trace.running
    assert "every instance of model 'model'" in run.trace.spans[0].error


def test_a_dropped_bls_stream_without_a_sender_ends(server):
    """Its caller has already responded."""
    server.define("model", cell(FIRST), config=DECOUPLED)
    asks = """
    next(ask("model", request).exec(decoupled=True))
    return [reply(x_of(request))]
    """
    server.define("caller", cell(asks), config=CONFIG)
    run = server.infer("caller", X)
    finish(server)

    assert not run.trace.running
    assert "sent no final flag" in run.trace.spans[1].notes[-1]
    assert not run.trace.error_count


COUNTED = (ResponseMessage, Response)


def alive() -> int:
    """Return the number of responses that are still referenced."""
    gc.collect()
    return sum(isinstance(each, COUNTED) for each in gc.get_objects())


# Sends no more than a few before they are read.
ENDLESS = cell(
    f"""
    {SENDER.strip()}
    while not sender.is_cancelled():
        stage.values["room"].acquire()
        sender.send(reply(x_of(request)))
    {FLAG.strip()}
    """
)


@pytest.mark.parametrize("level", ["timestamps", "tensors"])
def test_read_responses_of_an_endless_stream_are_dropped(level):
    """The trace counts two thousand responses and keeps a few."""
    room = stage.values["room"] = threading.Semaphore(4)
    with Server(trace_level=level) as server:
        server.define("endless", ENDLESS, config=DECOUPLED)
        stream = server.stream("endless", X)
        before = 0
        for number in range(4000):
            if number == 2000:
                before = alive()
            next(stream)
            room.release()
        after = alive()
        stream.cancel()
        room.release()

    assert abs(after - before) < 10
    (span,) = stream.run.trace.spans
    assert (1000, True) == (len(span.responses), span.response_count >= 4000)
    assert f"Sent: {span.response_count:,} responses." in span.notes[-1]
    assert 1000 == len(stream.run.responses)


def test_unread_responses_are_not_kept(server):
    """The caller dropped the iterator; the model continues, as on Triton."""
    sends = f"{FIRST}stage.sleep('dropped')\n{FIRST * 500}stage.events['sent'].set()\n"
    body = f"{sends}stage.sleep('counted')\n{FLAG}"
    server.define("model", cell(body), config=DECOUPLED)
    asks = """
    next(ask("model", request).exec(decoupled=True))
    return [reply(x_of(request))]
    """
    server.define("caller", cell(asks), config=CONFIG)
    before = alive()
    run = server.infer("caller", X)
    stage.events["dropped"].set()
    assert stage.events["sent"].wait(60)

    assert alive() - before < 10
    stage.events["counted"].set()
    finish(server)
    assert until(lambda: 502 == run.trace.spans[1].response_count)


@pytest.mark.parametrize("steps", [("leave", "unwind"), ("unwind", "leave")])
def test_a_request_whose_client_leaves_is_complete_when_both_have_ended(steps):
    """Whichever of the client and the model is first."""
    root = RootRequest(RunRecord(""), 60)
    response = DeferredResponse(root)
    seen = []
    for step in steps:
        getattr(response, step)()
        seen.append(root.wait_until_complete(0))

    assert [False, True] == seen
