"""Why was this not batched? What calls and servers know of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import stage
from cells import DOUBLE, instances

from blsnb import InferenceError

from ..clients import FAN_OUT, SUMS, batching, x

ANY_LENGTH = batching().replace("dims: [ 1 ]", "dims: [ -1 ]")
WAITING = batching("max_queue_delay_microseconds: 5000000")
OWN_THREAD = 'parameters { key: "BLSNB_THREAD" value { string_value: "instance" } }'
ALONE = batching(size=1).split("dynamic")[0]
IDLE = "max_sequence_idle_microseconds: 60000000"
DIRECT = batching(size=2).split("dynamic")[0] + (
    f"sequence_batching {{ direct {{ }} {IDLE} }}"
)


def test_calls_of_one_execute_are_batch_mates(server):
    """Each of four calls has three mates; their caller has none."""
    server.define("sums", SUMS, config=WAITING)
    server.define("fan_out", FAN_OUT, config=ALONE)

    trace = server.infer("fan_out", x(1)).trace

    assert [(), (2, 3, 4), (1, 3, 4), (1, 2, 4), (1, 2, 3)] == [
        trace.batch_mates(row) for row in range(5)
    ]
    [joined] = trace.spans[1].batching
    assert joined.joined
    assert (trace.spans[1].execution, ()) == (joined.execution, joined.runs)
    assert "the largest size 4 was reached" == joined.words
    assert () == trace.spans[0].batching


def test_a_correct_batched_run_has_no_notes(server):
    """It has none, although a batch runs on another thread than initialize."""
    server.define("sums", SUMS, config=WAITING)
    server.define("fan_out", FAN_OUT, config=ALONE)

    run = server.infer("fan_out", x(1))

    assert [4, 4, 4, 4] == [span.batch for span in run.trace.spans[1:]]
    assert [] == [*run.notes, *(n for span in run.trace.spans for n in span.notes)]


def test_why_a_request_was_not_batched_is_recorded(server, clients):
    """The reason for an earlier execution and the joined execution are recorded."""
    server.define("sums", SUMS, config=ANY_LENGTH)
    busy = clients.busy()
    first = clients.ask(1)
    wide = clients.send({"X": np.array([[1, 2]], np.float32)})
    stage.events["go"].set()

    [alone] = busy.result(60).trace.spans
    [before] = first.result(60).trace.spans
    [span] = wide.result(60).trace.spans
    not_with, joined = span.batching
    assert (before.execution, False) == (not_with.execution, not_with.joined)
    assert "shape differs" == not_with.cause
    assert "shape of X differs: [2] instead of [1]" == not_with.words
    assert (span.execution, True) == (joined.execution, joined.joined)
    assert [1, 1, 1] == [alone.batch, before.batch, span.batch]


def test_clients_that_were_batched_know_of_each_other(server, clients):
    """They belong to several runs, whose ids each has."""
    server.define("sums", SUMS, config=batching())
    busy = clients.busy()
    runs = [clients.ask(number) for number in (1, 2)]
    stage.events["go"].set()

    together = [run.result(60) for run in runs]
    spans = [run.trace.spans[0] for run in together]
    assert [2, 2] == [span.batch for span in spans]
    ids = tuple(run.id for run in together)
    assert [ids, ids] == [span.batching[-1].runs for span in spans]
    assert () == busy.result(60).trace.spans[0].batching[-1].runs


def test_a_long_wait_through_many_executions_is_summarised(server, clients):
    """A repeated reason of a sequence in the backlog is counted."""
    server.define("sums", SUMS, config=DIRECT.replace("size: 2", "size: 1"))
    for number in range(3):
        server.infer("sums", x(number), correlation_id=1, sequence_start=not number)
    waiting = clients.ask(9, correlation_id=2, sequence_start=True, sequence_end=True)
    for number in range(5):
        server.infer("sums", x(number), correlation_id=1, sequence_end=number == 4)

    batching = waiting.result(60).trace.spans[0].batching
    assert [
        ("no slot for its sequence", 4),
        ("one at a time of its sequence", 1),
        ("instance free", 1),
    ] == [(each.cause, each.times) for each in batching]
    assert [False, False, True] == [each.joined for each in batching]


def test_a_server_counts_sizes_and_reasons(server, clients):
    """Two batches of one and one of two, each with reasons."""
    server.define("sums", SUMS, config=ANY_LENGTH)
    answers = [clients.busy(), clients.ask(1), clients.ask(2)]
    answers.append(clients.send({"X": np.array([[1, 2]], np.float32)}))
    stage.events["go"].set()
    for answer in answers:
        answer.result(60)

    counts = server.batching("sums")
    assert "dynamic_batching" == counts.batcher
    assert {1: 2, 2: 1} == counts.sizes == counts.requests
    assert (4, 3) == (counts.request_count, counts.execution_count)
    assert {"instance free": 3} == counts.sent_because
    assert {"shape differs": 1} == counts.not_joined_because
    assert "<ModelBatching sums 1: 4 requests in 3 executions>" == repr(counts)
    with pytest.raises(dataclasses.FrozenInstanceError):
        counts.batcher = ""


def test_the_counts_agree_with_the_statistics(server):
    """Batch sizes are Triton's: the first dimensions of a batch's requests."""
    server.define("sums", SUMS, config=batching())
    server.infer("sums", {"X": np.ones((3, 1), np.float32)})
    server.infer("sums", x(1))

    counts = server.batching("sums")
    [row] = server.statistics("sums")["model_stats"]
    assert {1: 1, 3: 1} == counts.sizes
    assert [1, 3] == [each["batch_size"] for each in row["batch_stats"]]
    assert {1: 2} == counts.requests
    assert row["execution_count"] == counts.execution_count


def test_a_batcher_of_a_model_that_does_not_batch_counts_requests(server):
    """Their first dimension is not a batch size."""
    server.define("double", DOUBLE, config=f"{instances(1)} dynamic_batching {{ }}")
    server.infer("double", {"X": np.ones(3, np.float32)})

    counts = server.batching("double")
    assert ("dynamic_batching", {1: 1}, {1: 1}) == (
        counts.batcher,
        counts.sizes,
        counts.requests,
    )


def test_the_counts_restart_with_every_load(server):
    """They restart like statistics."""
    server.define("sums", SUMS, config=batching())
    server.infer("sums", x(1))
    server.define("sums", SUMS + "# changed\n", config=batching())

    assert {} == server.batching("sums").requests


def test_a_model_without_a_batcher_has_executions_of_one_request(server):
    """Its calls record nothing, and the counts are those of the statistics."""
    server.define("double", DOUBLE, config=instances(1))
    run = server.infer("double", {"X": np.ones(2, np.float32)})

    assert () == run.trace.spans[0].batching
    counts = server.batching("double")
    assert ("", {1: 1}, {1: 1}) == (counts.batcher, counts.sizes, counts.requests)
    assert {} == counts.sent_because


def test_null_requests_do_not_count(server, clients):
    """A null request fills a slot below a ready one."""
    server.define("sums", SUMS, config=DIRECT)
    server.infer("sums", x(1), correlation_id=1, sequence_start=True)
    run = server.infer("sums", x(1), correlation_id=2, sequence_start=True)

    assert [1, 2] == stage.seen
    assert 1 == run.trace.spans[0].batch
    assert {1: 2} == server.batching("sums").requests


def test_a_model_that_does_not_serve_is_refused(server):
    """The error has Triton's text."""
    server.define("double", DOUBLE, config=instances(1))

    with pytest.raises(InferenceError, match="'nowhere' is not available"):
        server.batching("nowhere")
    with pytest.raises(InferenceError, match="version is not available"):
        server.batching("double", version=7)


def test_a_crowd_that_could_be_batched_is_noted(server, clients):
    """Nine requests wait at once for a model with max_batch_size but no batcher."""
    fan_out = FAN_OUT.replace("range(4)", "range(-1, 9)").replace("x_of(request) +", "")
    fan_out = fan_out.replace("number)]", "np.full((1, 1), number, np.float32))]")
    # Whichever call comes first keeps the instance busy.
    source = SUMS.replace("flat[0] < 0", "flat[0] < 9")
    server.define("sums", source, config=batching().split("dynamic")[0])
    server.define("fan_out", fan_out, config=ALONE.replace("size: 1", "size: 16"))
    asked = clients.pool.submit(server.infer, "fan_out", x(1))
    waiting = 'nv_inference_pending_request_count{model="sums",version="1"} 9'
    while waiting not in server.metrics():
        assert not asked.done()
    stage.events["go"].set()

    assert any(
        "9 calls of sums waited at once" in note
        and "takes batches of up to 4, and without dynamic_batching" in note
        for note in asked.result(60).notes
    )
