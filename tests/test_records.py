"""What a server records of its requests: statistics, logs, traces."""

from __future__ import annotations

import itertools
import logging

import numpy as np
import pytest
from asserting import some
from cells import CONFIG, DOUBLE, calling, cell, touch

from blsnb import InferenceError, Server

X = {"X": np.array([1, 2], np.float32)}


@pytest.fixture
def double(server: Server) -> Server:
    """A server with one model."""
    server.define("double", DOUBLE, config=CONFIG)
    return server


def test_statistics_count_what_happened(double):
    """BLS calls count and refused requests do not, as on Triton."""
    double.define("outer", calling("double"), config=CONFIG)
    double.define("bad", cell("raise ValueError"), config=CONFIG)
    for _ in range(3):
        double.infer("outer", X)
    double.infer("double", X)
    with pytest.raises(InferenceError):
        double.infer("bad", X)
    with pytest.raises(InferenceError):
        double.infer("double", {})

    rows = {row["name"]: row for row in double.statistics()["model_stats"]}
    counts = {
        name: (
            row["inference_count"],
            row["execution_count"],
            row["inference_stats"]["success"]["count"],
            row["inference_stats"]["fail"]["count"],
            row["inference_stats"]["compute_infer"]["count"],
            row["batch_stats"][0]["compute_infer"]["count"],
        )
        for name, row in rows.items()
    }
    assert {
        "double": (4, 4, 4, 0, 4, 4),
        "outer": (3, 3, 3, 0, 3, 3),
        "bad": (0, 1, 0, 1, 0, 1),
    } == counts
    outer, inner = rows["outer"]["inference_stats"], rows["double"]["inference_stats"]
    assert outer["compute_infer"]["ns"] > 0
    assert outer["success"]["ns"] > outer["compute_infer"]["ns"]
    assert inner["success"]["ns"] > inner["compute_infer"]["ns"] > 0


def test_statistics_restart_with_every_load(double):
    """Unused counters are zero, batches empty."""
    double.infer("double", X)
    touch(double, "double")
    double.load("double")

    (row,) = double.statistics("double")["model_stats"]
    assert (0, 0, []) == (
        row["inference_count"],
        row["last_inference"],
        row["batch_stats"],
    )


def test_statistics_of_an_unknown_model(double):
    """The error has Triton's text."""
    with pytest.raises(InferenceError, match="model 'nobody' is not avail") as it:
        double.statistics("nobody")
    assert "Models that are loaded: double." == it.value.advice
    with pytest.raises(InferenceError, match="requested model version is not availab"):
        double.statistics("double", version=7)


def test_batches_count_by_their_size(server):
    """A request of three inferences is one execution."""
    config = f"{CONFIG}\nmax_batch_size: 8"
    server.define("batch", cell("return [reply(x_of(request))]"), config=config)
    server.infer("batch", {"X": np.zeros((3, 2), np.float32)})

    (row,) = server.statistics("batch")["model_stats"]
    assert (3, 1, 3) == (
        row["inference_count"],
        row["execution_count"],
        row["batch_stats"][0]["batch_size"],
    )


def test_logs_land_in_the_call_and_in_logging(server, caplog):
    """Levels have Triton's names, and verbose lines must be enabled."""
    body = """
    pb_utils.Logger.log_info("one")
    pb_utils.Logger.log_warn("two")
    pb_utils.Logger.log_error("three")
    pb_utils.Logger.log_verbose("four")
    return [reply(x_of(request))]
    """
    server.define("model", cell(body), config=CONFIG)
    with caplog.at_level(logging.DEBUG, "blsnb.model.model"):
        run = server.infer("model", X)

    assert ["INFO", "WARNING", "ERROR", "VERBOSE"] == [
        line.level for line in run.trace.spans[0].logs
    ]
    assert ["one", "two", "three"] == caplog.messages
    assert [("model", "WARNING", "two")] == [
        line[:3] for line in server.log.lines if line.level == "WARNING"
    ]


def test_events_are_in_order_and_children_lie_within_parents(double):
    """Every call has Triton's seven activities."""
    double.define("middle", calling("double"), config=CONFIG)
    double.define("outer", calling("middle"), config=CONFIG)
    spans = double.infer("outer", X).trace.spans

    assert [-1, 0, 1] == [span.parent for span in spans]
    for span in some(spans):
        names, times = zip(*span.events, strict=True)
        assert 7 == len(names)
        assert sorted(times) == list(times)
    for parent, child in some(itertools.pairwise(spans)):
        assert parent.compute_input_end_ns <= child.request_start_ns
        assert child.request_end_ns <= parent.compute_output_start_ns


def test_a_failed_call_ends_within_its_parent(double):
    """A failed call has all its times, too."""
    double.define("bad", cell("raise ValueError"), config=CONFIG)
    double.define("outer", calling("bad"), config=CONFIG)
    with pytest.raises(InferenceError) as caught:
        double.infer("outer", X)

    outer, bad = caught.value.run.trace.spans
    assert 7 == len(bad.events) == len(outer.events)
    assert bad.request_end_ns <= outer.request_end_ns
    assert outer.flags & outer.flags.ERROR
    assert bad.flags & bad.flags.ERROR


def test_a_call_knows_the_line_that_made_it(double):
    """The line is in the caller's cell; a client request has none."""
    source = calling("double")
    double.define("outer", source, config=CONFIG)
    spans = double.infer("outer", X).trace.spans

    assert [0, len(source.splitlines())] == [span.line for span in spans]


def test_a_refused_bls_call_is_in_the_trace(double):
    """Triton does not trace it, but its author needs to see it."""
    body = 'ask("nobody", request).exec()\nreturn [reply(x_of(request))]'
    double.define("outer", cell(body), config=CONFIG)
    spans = double.infer("outer", X).trace.spans

    assert [("outer", ""), ("nobody", "NOT_FOUND")] == [
        (span.instance.removesuffix("_0") or "nobody", span.error_code)
        for span in spans
    ]


@pytest.mark.parametrize(
    ("level", "calls", "values"),
    [("tensors", 2, True), ("timestamps", 2, False), ("off", 0, False)],
)
def test_the_trace_level_says_what_is_kept(level, calls, values):
    """Values are kept at the highest level only, and nothing at the lowest."""
    with Server(trace_level=level) as server:
        server.define("double", DOUBLE, config=CONFIG)
        server.define("outer", calling("double"), config=CONFIG)
        run = server.infer("outer", X)

    assert [2, 4] == run["Y"].tolist()
    assert calls == len(run.trace.spans)
    assert values == any(span.inputs for span in run.trace.spans)


def test_the_ring_keeps_the_last_runs():
    """A run that is referenced elsewhere stays usable."""
    with Server(keep_runs=2) as server:
        server.define("double", DOUBLE, config=CONFIG)
        runs = [server.infer("double", X) for _ in range(4)]

        assert [run.id for run in runs[-2:]] == [record.id for record in server.runs]
        assert 1 == len(runs[0].trace.spans)


def test_values_are_evicted_when_the_budget_is_spent():
    """Shapes remain, and pinned runs keep all values."""
    with Server(trace_budget_bytes=20) as server:
        server.define("double", DOUBLE, config=CONFIG)
        pinned = server.infer("double", X).keep()
        runs = [server.infer("double", X) for _ in range(2)]
        shown = [run.trace.spans[0].inputs[0] for run in (pinned, *runs)]

        assert [True, False, True] == [ref.data is not None for ref in shown]
        assert (2,) == shown[1].shape
        assert [2, 4] == runs[0]["Y"].tolist()
