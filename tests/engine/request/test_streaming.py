"""Decoupled models: any number of responses, when and from where they like."""

from __future__ import annotations

import asyncio

import pytest
import stage
from cells import cell
from waiting import until

from blsnb.engine.request.streaming import StreamInflight
from blsnb.errors import InferenceError, WouldHang
from blsnb.inference_server import Server
from blsnb.pb_utils.message import RequestMessage
from blsnb.trace.events import Call, CallFlag

from ..pools import MODEL, a_root

DECOUPLED = """
model_transaction_policy { decoupled: true }
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
"""
SINGLE = DECOUPLED.replace("decoupled: true", "decoupled: false")
FLAG = "sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)"
EXPIRING = (
    "max_batch_size: 2 dynamic_batching { max_queue_delay_microseconds: 100000 "
    "preferred_batch_size: 2 "
    "default_queue_policy { default_timeout_microseconds: 1000 } }" + DECOUPLED
)
SENDER = "sender = request.get_response_sender()\n"
EACH = SENDER + "for value in x_of(request):\n    sender.send(reply(value[None]))\n"
UNTIL_CANCELLED = """
while not request.is_cancelled():
    stage.events["asleep"].set()
stage.events["noticed"].set()
sender = request.get_response_sender()
sender.send(flags=1)
"""
LATER = """
import threading
sender = request.get_response_sender()
def answer():
    sender.send(reply(x_of(request)), flags=1)
threading.Thread(target=answer).start()
"""
ONE_BY_ONE = """
sender = request.get_response_sender()
for value in x_of(request):
    await asyncio.sleep(0)
    sender.send(reply(value[None]))
sender.send(flags=1)
"""


def read(server: Server, name: str, values: list[float]) -> list[list[float]]:
    """Return the values of each response of a stream; an empty one is []."""
    responses = server.stream(name, {"X": values})
    return [r["Y"].tolist() if r.outputs else [] for r in responses]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (cell(EACH + FLAG), [[1], [2], []]),
        (cell(SENDER + FLAG), [[]]),
        (cell(LATER), [[1, 2]]),
        (cell(ONE_BY_ONE, asynchronous=True), [[1], [2], []]),
    ],
    ids=["flag alone", "flag only", "from a thread", "from a coroutine"],
)
def test_a_stream_has_all_sent_responses(server, source, expected):
    """They are in order; a lone final flag is an empty response."""
    server.define("model", source, config=DECOUPLED)

    assert expected == read(server, "model", [1, 2])


def test_only_the_last_response_is_final(server):
    """The flag belongs to the response with which it was sent."""
    server.define("model", cell(EACH + FLAG), config=DECOUPLED)

    flags = [response.final for response in server.stream("model", {"X": [1, 2]})]
    assert [False, False, True] == flags


def test_responses_arrive_while_the_model_runs(server):
    """The first can be read before the second is sent."""
    source = cell(
        """
        sender = request.get_response_sender()
        sender.send(reply(x_of(request)))
        stage.sleep("was read")
        sender.send(flags=1)
        """
    )
    server.define("model", source, config=DECOUPLED)
    stream = server.stream("model", {"X": [1]})

    first = next(stream)
    stage.events["was read"].set()
    assert ([1.0], [True]) == (first["Y"].tolist(), [r.final for r in stream])


def test_an_error_in_mid_stream_does_not_end_it(server):
    """Triton's client receives it and continues to read."""
    failure = "pb_utils.InferenceResponse(error=pb_utils.TritonError('no'))"
    source = cell(f"{SENDER}sender.send({failure})\n{EACH}{FLAG}")
    server.define("model", source, config=DECOUPLED)

    errors = [response.error for response in server.stream("model", {"X": [1]})]
    assert ["no", None, None] == errors


def test_a_model_that_raises_ends_its_stream_with_the_error(server):
    """Earlier responses remain."""
    source = cell(EACH + "raise ValueError('boom')")
    server.define("model", source, config=DECOUPLED)

    stream = server.stream("model", {"X": [1, 2]})
    *sent, last = stream
    (span,) = stream.run.trace.spans
    assert 2 == len(sent)
    assert (last.error, "INTERNAL") == (span.error, span.error_code)
    assert last.error.startswith(
        "Failed to process the request(s) for model 'model_0', message: ValueError: "
    )


def test_a_decoupled_execute_must_return_none(server):
    """Other values, even an empty list, end the request."""
    server.define("model", cell("return []"), config=DECOUPLED)

    (response,) = server.stream("model", {"X": [1]})
    assert response.error.endswith(
        "Python model 'model_0' is using the decoupled mode and the execute function "
        "must return None."
    )


def test_infer_refuses_a_decoupled_model_and_names_stream(server):
    """The text is gRPC's for a call that expects one response."""
    server.define("model", cell(EACH + FLAG), config=DECOUPLED)

    with pytest.raises(InferenceError) as caught:
        server.infer("model", {"X": [1]})
    expected = "ModelInfer RPC doesn't support models with decoupled transaction policy"
    assert ("UNSUPPORTED", expected) == (caught.value.code, caught.value.message)
    assert "blsnb.stream('model'" in caught.value.advice


def test_a_stream_of_a_refused_request_raises(server):
    """There is nothing to read."""
    with pytest.raises(InferenceError, match="is not found"):
        server.stream("nobody", {"X": [1]})


def test_async_for_reads_a_stream(server):
    """The event loop is not blocked."""
    server.define("model", cell(EACH + FLAG), config=DECOUPLED)

    async def main() -> int:
        return len([r async for r in server.async_stream("model", {"X": [1, 2]})])

    assert 3 == asyncio.run(main())


def test_a_task_that_is_cancelled_in_async_for_cancels_its_request(server):
    """The model notices while the task waits for the first response."""
    server.define("model", cell(UNTIL_CANCELLED), config=DECOUPLED)

    async def main() -> None:
        task = asyncio.create_task(anext(server.async_stream("model", {"X": [1]})))
        await asyncio.to_thread(stage.events["asleep"].wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    assert stage.events["noticed"].wait(60)


ITERATE = """
question = ask("model", request)
iterator = question.exec(decoupled=True)
{}
"""


def caller(server: Server, lines: str) -> list[float]:
    """Return the response of a model that iterates over another one's responses."""
    server.define("model", cell(EACH + FLAG), config=DECOUPLED)
    server.define("caller", cell(ITERATE.format(lines)), config=SINGLE)
    return server.infer("caller", {"X": [1, 2]})["Y"].tolist()


def test_bls_iterates_over_responses(server):
    """N responses and a lone flag are N + 1 items; the last one is empty."""
    lines = (
        "return [reply(np.array([len(r.output_tensors()) for r in iterator], 'f4'))]"
    )

    assert [1, 1, 0] == caller(server, lines)


def test_a_finished_iteration_starts_again(server):
    """Responses are kept; the next loop continues after one that was left."""
    lines = """
first = next(iterator)
rest = len(list(iterator))
return [reply(np.array([rest, len(list(iterator))], 'f4'))]
"""
    assert [2, 3] == caller(server, lines)


def test_bls_without_decoupled_is_an_error_response(server):
    """The text is Triton's with its stray quotation mark."""
    lines = """
text = question.exec().error().message().encode()
return [reply(np.frombuffer(text, "u1").astype("f4"))]
"""
    text = bytes(map(int, caller(server, lines))).decode()

    assert text.endswith("calls for decoupled models.'")
    assert text.startswith("Model model - Error when running inference: Model model is")


def test_a_model_that_is_not_decoupled_is_one_item(server):
    """The iterator holds its only response."""
    server.define("model", cell("return [reply(x_of(request))]"), config=SINGLE)
    lines = "return [reply(np.array([len(list(iterator))], 'f4'))]"
    server.define("caller", cell(ITERATE.format(lines)), config=SINGLE)

    assert [1] == server.infer("caller", {"X": [1]})["Y"].tolist()


def test_async_exec_of_a_decoupled_model_gives_an_iterator(server):
    """The await ends with the first response."""
    server.define("model", cell(EACH + FLAG), config=DECOUPLED)
    lines = """
iterators = await asyncio.gather(
    *(ask("model", request).async_exec(decoupled=True) for _ in range(3))
)
return [reply(np.array([len(list(i)) for i in iterators], 'f4'))]
"""
    server.define("caller", cell(lines, asynchronous=True), config=SINGLE)

    assert [3, 3, 3] == server.infer("caller", {"X": [1, 2]})["Y"].tolist()


def test_coroutines_of_one_instance_interleave(server):
    """A decoupled async execute returns at once; requests share its event loop."""
    source = cell(
        """
        self.here = getattr(self, "here", 0) + 1
        while self.here < 2:
            await asyncio.sleep(0)
        sender = request.get_response_sender()
        sender.send(reply(x_of(request)), flags=1)
        """,
        asynchronous=True,
    )
    server.define("model", source, config=DECOUPLED)
    streams = [server.stream("model", {"X": [n]}) for n in (1, 2)]

    assert [[1], [2]] == [next(stream)["Y"].tolist() for stream in streams]


def test_a_missing_final_flag_would_hang(server):
    """It is found when nothing can send it; sent responses can be read."""
    server.define("model", cell(EACH), config=DECOUPLED)
    stream = server.stream("model", {"X": [1]})

    assert [1.0] == next(stream)["Y"].tolist()
    with pytest.raises(WouldHang, match="sent no final flag"):
        next(stream)


def test_an_exception_that_triton_only_logs_would_hang(server):
    """An asynchronous decoupled model that raises leaves its client waiting."""
    source = cell("raise ValueError('boom')", asynchronous=True)
    server.define("model", source, config=DECOUPLED)

    with pytest.raises(WouldHang) as caught:
        next(server.stream("model", {"X": [1]}))
    assert "Triton only logs that" in caught.value.advice
    assert "ValueError: boom" in caught.value.advice


def test_a_decoupled_call_to_oneself_would_hang(server):
    """The only instance waits for the first response of its next execute."""
    lines = 'next(ask("model", request).exec(decoupled=True))\n' + SENDER + FLAG
    server.define("model", cell(lines), config=DECOUPLED)

    with pytest.raises(WouldHang, match="every instance of model 'model'"):
        next(server.stream("model", {"X": [1]}))


def test_the_trace_has_a_time_for_every_response(server):
    """The call ends when execute has returned and the final flag was sent."""
    server.define("model", cell(EACH + FLAG), config=DECOUPLED)
    stream = server.stream("model", {"X": [1, 2]})
    list(stream)

    (span,) = stream.run.trace.spans
    assert CallFlag.DECOUPLED == span.flags
    assert 3 == len(span.responses)
    assert span.request_start_ns < span.responses[0].ns <= span.request_end_ns
    assert 1 == server.statistics("model")["model_stats"][0]["inference_count"]


@pytest.mark.parametrize(
    ("source", "config", "values", "expected"),
    [
        (cell("raise ValueError('boom')"), DECOUPLED, [1], "ValueError: boom"),
        (cell(EACH + FLAG), EXPIRING, [[1]], "Request timeout expired"),
    ],
    ids=["raised", "rejected"],
)
def test_a_failed_call_has_its_error_before_its_caller_can_know(
    server, monkeypatch, source, config, values, expected
):
    """A caller that is ahead of the model's thread may look at the trace at once."""
    seen = []
    original = StreamInflight._complete

    def complete(inflight):
        seen.append((inflight.final, inflight.call.error))
        original(inflight)

    monkeypatch.setattr(StreamInflight, "_complete", complete)
    server.define("model", source, config=config)
    [response] = server.stream("model", {"X": values})

    assert expected in response.error
    assert until(lambda: server.runs[-1].trace.spans[0].request_end_ns)
    assert expected in server.runs[-1].trace.spans[0].error
    # The reader woke just before.
    assert expected in next(error for final, error in seen if final)


def test_a_stream_is_open_until_its_reader_leaves_or_its_request_ends():
    """An unloaded model then no longer waits for its answer."""
    for end in (StreamInflight.leave, lambda each: each.root.end(KeyboardInterrupt())):
        stream = StreamInflight(RequestMessage("m", ()), a_root(), Call(MODEL, None, 0))
        assert stream.is_open
        end(stream)
        assert not stream.is_open
