"""Rows of runs: recorded inputs, and recorded outputs as labels."""

from __future__ import annotations

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, FINAL, calling, cell
from whole_text import whole

from blsnb import InferenceError, Server, TraceError
from blsnb.evaluation.rows.source import row_source
from blsnb.results.run import ImportedRun
from blsnb.trace.capture import trace_of

STREAM = f"""
sender = request.get_response_sender()
for value in x_of(request):
    sender.send(reply(np.array([value])))
sender.send(flags={FINAL})
return None
"""


@pytest.fixture(scope="module")
def server():
    """A server with a model, one that calls it, and one that fails."""
    with Server(model_control_mode="explicit") as server:
        server.define("double", DOUBLE, config=CONFIG)
        server.define("outer", calling("double"), config=CONFIG)
        server.define("fails", cell("raise ValueError('no')"), config=CONFIG)
        yield server


def infer(server, name="double", **options):
    """Return the run of a request with two values."""
    return server.infer(name, {"X": np.array([1, 2], np.float32)}, **options)


def test_a_run_is_a_row_with_its_recorded_answer(server):
    """A later version is compared with what the earlier one answered."""
    run = infer(server, request_id="a", correlation_id=7)

    [row] = row_source(run, ["X"])

    assert [1, 2] == row.inputs["X"].tolist()
    assert [2, 4] == row.rest["recorded"]["Y"].tolist()
    assert ("a", 7, "") == tuple(
        row.rest[name] for name in ("request_id", "correlation_id", "recorded_error")
    )


def test_saved_runs_are_rows(server, tmp_path):
    """A file, and a folder of files sorted by name."""
    for number in range(2):
        run = server.infer("double", {"X": np.full(1, number, np.float32)})
        run.save(tmp_path / f"{number}.blsrun")

    [row] = row_source(tmp_path / "1.blsrun", ["X"])
    rows = list(row_source(tmp_path, ["X"]))

    assert [1] == row.inputs["X"].tolist()
    assert [[0], [2]] == [row.rest["recorded"]["Y"].tolist() for row in rows]
    assert 64 == len(row_source(tmp_path, ["X"]).digest())


def test_a_failed_run_keeps_its_error(server):
    """A metric may expect the same failure."""
    with pytest.raises(InferenceError) as caught:
        infer(server, "fails")

    [row] = row_source([caught.value.run], ["X"])

    assert {} == row.rest["recorded"]
    assert "ValueError: no" in row.rest["recorded_error"]


def test_a_saved_run_keeps_what_its_client_received(server, tmp_path):
    """A client may have given up before the model responded."""
    trace = infer(server).trace
    gave_up = ImportedRun(trace, [], "Deadline Exceeded").save(tmp_path / "run.blsrun")

    [row] = row_source(gave_up, ["X"])

    assert ({}, "Deadline Exceeded") == (
        row.rest["recorded"],
        row.rest["recorded_error"],
    )


def test_outputs_of_a_decoupled_model_are_lists():
    """They have the array of each response."""
    decoupled = CONFIG + "model_transaction_policy { decoupled: true }"
    with Server() as server:
        server.define("stream", cell(STREAM), config=decoupled)
        stream = server.stream("stream", {"X": np.array([1, 2], np.float32)})
        assert 3 == len(list(stream))

    [row] = row_source([stream.run], ["X"])

    assert [[1], [2]] == [each.tolist() for each in row.rest["recorded"]["Y"]]


def test_only_runs_of_the_evaluated_model_are_rows(server, tmp_path):
    """A recording has the requests of all models."""
    runs = [infer(server), infer(server, "outer"), infer(server)]
    rows = row_source(runs, ["X"], model_name="double")
    assert [0, 1] == [row.number for row in rows]
    runs[0].save(tmp_path / "run.blsrun")

    text = "the files have no run of the model 'outer'; they are of 'double'"
    with pytest.raises(ValueError, match=whole(text)):
        list(row_source(tmp_path, ["X"], model_name="outer"))


def test_a_run_without_a_request_is_refused():
    """Its file may be damaged, or have model loads only."""
    run = ImportedRun(trace_of("r", [], 1))

    with pytest.raises(
        TraceError, match=whole(f"run {run.id} has no recorded request")
    ):
        list(row_source([run], ["X"]))


def test_a_run_without_the_value_of_an_input_is_refused(server):
    """Without an optional input a model would answer something else."""
    with Server(trace_level="timestamps") as other:
        other.define("double", DOUBLE, config=CONFIG)
        run = infer(other)

        with pytest.raises(TraceError, match=f"run {run.id}: "):
            list(row_source([run], ["X"]))


def test_runs_without_the_value_of_an_input_are_left_out_among_others(tmp_path):
    """A recorder summarises large values; one such request ends no evaluation."""
    with Server(trace_budget_bytes=20) as other:
        other.define("double", DOUBLE, config=CONFIG)
        runs = [infer(other), infer(other)]
        for number, run in enumerate(runs):
            run.save(tmp_path / f"{number}.blsrun")

        for rows in (runs, tmp_path):
            with pytest.warns(
                UserWarning,
                match=rf"\A1 of 2 recorded requests left out: run {runs[0].id}: ",
            ):
                [row] = row_source(rows, ["X"])
            assert [1, 2] == row.inputs["X"].tolist()


def test_a_recorded_request_may_have_no_inputs():
    """All inputs of its model are optional."""
    optional = CONFIG.replace("input {", "input { optional: true")
    with Server() as other:
        other.define("zeros", cell("return [reply(np.zeros(1))]"), config=optional)

        [row] = row_source([other.infer("zeros", {})], ["X"])

    assert {} == row.inputs
