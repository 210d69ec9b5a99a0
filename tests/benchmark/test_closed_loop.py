"""A model under load: its clients, their requests, and the end of a level."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
import stage
from asserting import every, some
from cells import CONFIG, DOUBLE, FINAL, calling, cell
from whole_text import whole

from blsnb import InferenceError
from blsnb.benchmark import level
from blsnb.errors import InputError
from blsnb.parts.server_parts import parts_of

X = {"X": np.ones(2, np.float32)}
HOUR_S = 3600
_COUNT = "stage.seen.append(1)\nreturn [reply(x_of(request))]"
COUNTS = cell(_COUNT)
STREAM = cell(
    f"""
    sender = request.get_response_sender()
    for number in range(3):
        sender.send(reply(x_of(request) + number))
    sender.send(flags={FINAL})
    return None
    """
)
DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
TOGETHER = cell(
    """
    stage.barriers["all"].wait(60)
    return [reply(x_of(request))]
    """
)
SOMETIMES = cell(
    """
    stage.seen.append(1)
    if len(stage.seen) % 4 == 0:
        raise ValueError(f"no to {len(stage.seen) % 8}")
    return [reply(x_of(request))]
    """
)
SLEEPS = cell(
    """
    stage.values["request"] = request
    stage.sleep()
    return [reply(x_of(request))]
    """
)


def bench(server, name="model", **how):
    """Measure, with a number of requests that ends before the time."""
    options = {"concurrency": [1], "duration_s": HOUR_S, "requests": 20} | how
    return server.bench(name, X, **options)


def test_every_request_is_made_once_and_counted(server):
    """Each level has the given number, and one warm-up request is not measured."""
    server.define("model", COUNTS, config=CONFIG)
    measured = bench(server, concurrency=[1, 3, 5])

    assert [(1, 20, 0), (3, 20, 0), (5, 20, 0)] == [
        (row.concurrency, row.requests, row.failed) for row in measured.rows
    ]
    assert 61 == len(stage.seen)
    assert [{1: 20}] * 3 == [row.batch_sizes for row in measured.rows]
    assert not measured.interrupted

    bench(server, warm_up_requests=0)

    assert 81 == len(stage.seen)


def test_all_clients_of_a_level_send_at_once(server):
    """No response is sent before the last request."""
    stage.barriers["all"] = threading.Barrier(4)
    four = f"{CONFIG}\ninstance_group {{ kind: KIND_CPU count: 4 }}\n"
    server.define("model", TOGETHER, config=four)
    measured = bench(server, concurrency=[4], warm_up_requests=0)

    assert (20, 0) == (measured.rows[0].requests, measured.rows[0].failed)


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test advances, however busy the machine is."""

    def put(hours):
        elapsed = property(lambda level: HOUR_S * hours())
        monkeypatch.setattr(level.Level, "elapsed_s", elapsed)

    return put


def test_the_time_ends_a_level(server, clock):
    """The number of requests does not matter."""
    server.define("model", COUNTS, config=CONFIG)
    clock(lambda: len(stage.seen) / 100)
    measured = bench(server, requests=1_000_000)

    [row] = measured.rows
    assert 99 == row.requests
    assert len(stage.seen) == row.requests + 1


def test_errors_are_counted_by_their_text(server):
    """Other requests are measured."""
    server.define("model", SOMETIMES, config=CONFIG)
    [row] = bench(server, requests=16, warm_up_requests=0).rows

    assert (12, 4) == (row.requests, row.failed)
    assert [2, 2] == list(row.errors.values())
    for text in some(row.errors):
        assert text.startswith("[INTERNAL] Failed to process the request(s)")
        assert "ValueError: no to" in text


@pytest.mark.parametrize("config", ["", DECOUPLED], ids=["one response", "stream"])
def test_a_request_that_is_refused_is_not_measured(server, config):
    """The error is that of `infer`, after the warm-up."""
    server.define("model", STREAM if config else COUNTS, config=config or CONFIG)

    with pytest.raises(InferenceError, match="expected 1 inputs but got 0") as caught:
        server.bench("model", {}, concurrency=[1], duration_s=HOUR_S)
    assert "INVALID_ARG" == caught.value.code
    assert [] == stage.seen


def test_a_decoupled_model_is_measured_by_stream(server):
    """Latencies to the first and to the last response are measured."""
    server.define("model", STREAM, config=DECOUPLED)
    measured = bench(server, concurrency=[2])

    [row] = measured.rows
    assert measured.stream
    assert (20, 0, 60) == (row.requests, row.failed, row.responses)
    assert 0 < row.first_p50_us < row.p50_us


def test_errors_in_a_stream_are_failures(server):
    """They count like the error of a single response."""
    fails = STREAM.replace("reply(x_of(request) + number)", _FAILS)
    server.define("model", fails, config=DECOUPLED)
    [row] = bench(server).rows

    assert (0, 20) == (row.requests, row.failed)
    assert {"not now": 20} == row.errors


_FAILS = "pb_utils.InferenceResponse(error=pb_utils.TritonError('not now'))"


@pytest.mark.parametrize("level", ["tensors", "timestamps", "off"])
def test_runs_are_not_kept(server, level):
    """Neither the trace level nor observers change this."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("model", calling("double"), config=CONFIG)
    told: list[object] = []
    stop = parts_of(server).recorder.observe(lambda *seen: told.append(seen))
    measured = bench(server, trace_level=level, concurrency=[2])
    stop()

    assert level == measured.trace_level
    assert [] == server.runs
    assert [] == told


def test_the_servers_own_level_is_measured(server):
    """It is the default and does not change."""
    server.define("model", COUNTS, config=CONFIG)

    assert "tensors" == bench(server).trace_level
    assert "off" == bench(server, trace_level="off").trace_level
    run = server.infer("model", X)
    assert run.trace.spans[0].inputs


def test_an_interrupt_ends_it_with_what_was_measured(server, monkeypatch):
    """The interrupted level has a row, later ones do not."""
    waits = "if len(stage.seen) > 40:\n    assert stage.events['pressed'].wait(60)\n"
    server.define("model", cell(f"{waits}{_COUNT}"), config=CONFIG)
    monkeypatch.setattr(level, "GRACE_S", 60)

    told = []

    def press(share: float, words: str) -> None:
        told.append((share, words))
        if words == "2 clients":
            stage.events["pressed"].set()
            raise KeyboardInterrupt

    measured = bench(server, concurrency=[1, 2, 4], requests=30, progress=press)

    assert measured.interrupted
    assert (1.0, "interrupted") == told[-1]
    assert [1, 2] == [row.concurrency for row in measured.rows]
    assert len(stage.seen) == sum(row.requests for row in measured.rows) + 1
    assert [[1.0, 1.0]] == [server.infer("model", X)["Y"].tolist()]


def test_a_model_that_never_returns_is_abandoned(server, monkeypatch, clock):
    """Its request is cancelled and does not count; the bench and its threads end."""
    monkeypatch.setattr(level, "MIN_DRAIN_S", 0.05)
    monkeypatch.setattr(level, "GRACE_S", 0.05)
    server.define("model", SLEEPS, config=CONFIG)
    clock(lambda: 2 if stage.events["asleep"].is_set() else 0)
    measured = bench(server, warm_up_requests=0)

    [row] = measured.rows
    assert (0, 0, 1) == (row.requests, row.failed, row.unfinished)
    assert stage.values["request"].is_cancelled()
    stage.events["end"].set()


def test_a_stream_that_never_ends_is_abandoned(server, monkeypatch, clock):
    """Its reader is cancelled, and the model can see it."""
    monkeypatch.setattr(level, "MIN_DRAIN_S", 0.05)
    monkeypatch.setattr(level, "GRACE_S", 0.05)
    endless = cell(
        """
        stage.values["request"] = request
        request.get_response_sender().send(reply(x_of(request)))
        stage.values["sender"] = request.get_response_sender
        return None
        """
    )
    server.define("model", endless, config=DECOUPLED)
    clock(lambda: 2 if "sender" in stage.values else 0)
    measured = bench(server, warm_up_requests=0)

    [row] = measured.rows
    assert (0, 0, 1) == (row.requests, row.failed, row.unfinished)
    assert stage.values["request"].is_cancelled()
    stage.values.clear()


def test_a_model_that_is_unloaded_during_a_bench_fails_its_requests(server):
    """The failures are counted; the model has no statistics any more."""
    waits = "if len(stage.seen) > 10:\n    assert stage.events['gone'].wait(60)\n"
    server.define("model", cell(f"{waits}{_COUNT}"), config=CONFIG)

    def unload(share: float, words: str) -> None:
        if share and not stage.events["gone"].is_set():
            server.unload("model")
            stage.events["gone"].set()

    [row] = bench(server, requests=100, progress=unload).rows

    assert row.requests
    assert row.failed
    assert every("unknown model" in text for text in row.errors)


def test_a_bench_reports_its_progress(server):
    """It reports from the warm-up to the end."""
    server.define("model", COUNTS, config=CONFIG)
    told: list[tuple[float, str]] = []
    bench(server, concurrency=[1, 2], progress=lambda *now: told.append(now))

    shares = [share for share, _ in told]
    assert sorted(shares) == shares
    assert (1.0, "done") == told[-1]
    assert {"warm-up", "1 client", "2 clients", "done"} == {words for _, words in told}


def test_a_model_that_does_not_serve_is_refused(server):
    """The error comes at once, instead of a table of failures."""
    with pytest.raises(InferenceError, match="unknown model: 'nowhere'"):
        bench(server, "nowhere")


def test_an_input_of_an_unknown_type_is_refused(server):
    """The first request fails."""
    server.define("model", COUNTS, config=CONFIG)

    with pytest.raises(InputError):
        server.bench("model", {"X": object()}, concurrency=[1], duration_s=HOUR_S)


def test_a_request_that_cannot_be_made_ends_it(server):
    """The other clients stop, too."""

    class Inputs(dict):
        def items(self):
            return [("X", object() if next(asked) > 8 else X["X"])]

    asked = itertools.count(1)
    server.define("model", COUNTS, config=CONFIG)
    how = {"duration_s": HOUR_S, "requests": 1_000_000}

    with pytest.raises(InputError):
        server.bench("model", Inputs(), concurrency=[3], **how)


@pytest.mark.parametrize(
    ("how", "given", "expected"),
    [
        ({"concurrency": []}, "concurrency=[]", "numbers of clients"),
        ({"concurrency": [0]}, "concurrency=0", "1 to 1,024"),
        ({"concurrency": [1025]}, "concurrency=1025", "1 to 1,024"),
        ({"duration_s": 0}, "duration_s=0", "more than 0 and at most 86,400"),
        (
            {"duration_s": float("inf")},
            "duration_s=inf",
            "more than 0 and at most 86,400",
        ),
        (
            {"duration_s": float("nan")},
            "duration_s=nan",
            "more than 0 and at most 86,400",
        ),
        ({"requests": 0}, "requests=0", "1 to 1,000,000"),
        (
            {"trace_level": "all"},
            "trace_level='all'",
            "'tensors', 'timestamps' or 'off'",
        ),
    ],
)
def test_numbers_out_of_range_are_refused(server, how, given, expected):
    """They are checked before the first request."""
    server.define("model", COUNTS, config=CONFIG)

    text = f"{given} is not valid; expected {expected}"
    with pytest.raises(ValueError, match=whole(text)):
        bench(server, **how)
    assert [] == stage.seen


def test_options_of_infer_apply_to_every_request(server):
    """Parameters are an example."""
    server.define(
        "model",
        cell("stage.seen.append(request.parameters())\nreturn [reply(x_of(request))]"),
        config=CONFIG,
    )
    bench(server, requests=2, warm_up_requests=0, parameters={"k": 1})

    assert ['{"k":1}'] * 2 == stage.seen
