"""Specification of the rows of a recording: a data set of production requests."""

from __future__ import annotations

import numpy as np
import pytest
from asserting import some

import blsnb
from blsnb.errors import TraceError
from blsnb.recorder.recording import Recording

from .stub_runs import run_stub, write_recorder

SAME = """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        value = requests[0].inputs()[0].as_numpy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("X", value + 1)])]
"""
SAME_CONFIG = """\
backend: "python"
input [{name: "X" data_type: TYPE_FP32 dims: [-1]}]
output [{name: "X" data_type: TYPE_FP32 dims: [-1]}]
"""

STREAM = """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        sender = requests[0].get_response_sender()
        for value in requests[0].inputs()[0].as_numpy():
            sender.send(
                pb_utils.InferenceResponse([pb_utils.Tensor("X", value[None])])
            )
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
STREAM_CONFIG = f"""\
{SAME_CONFIG.replace('"X"', '"IN"', 1)}
model_transaction_policy {{ decoupled: true }}
"""


@pytest.fixture
def redacted(tmp_path):
    """A recording of the imitated stub without the values of its inputs."""
    recorder, folder = write_recorder(tmp_path), tmp_path / "recording"
    run_stub(recorder, folder=folder, settings={"REDACT_TENSORS": "X"})
    return blsnb.load_recording(folder)


@pytest.mark.triton_server
@pytest.mark.timeout(180)
def test_a_row_has_the_inputs_and_the_recorded_outputs(recorded):
    """It names the request as the client did."""
    rows = recorded[0].rows("sync")

    assert [3.0] == rows[0]["X"].tolist()
    assert [12.0] == rows[0]["Y"].tolist()
    assert ("id of sync", "", 0, {}) == tuple(
        rows[0][name]
        for name in ("request_id", "error", "correlation_id", "parameters")
    )


@pytest.mark.triton_server
@pytest.mark.timeout(180)
def test_a_row_of_a_failure_has_its_text_and_no_output(recorded):
    """The text is what the client received."""
    recording, received = recorded
    row = next(row for row in recording.rows("sync") if row["error"])

    assert received["sync fails"] == row["error"]
    assert [-1.0] == row["X"].tolist()
    assert "Y" not in row


@pytest.mark.triton_server
@pytest.mark.timeout(180)
def test_an_output_of_a_decoupled_model_is_a_list(recorded):
    """It has the array of each response that has one."""
    row = recorded[0].rows("counts")[0]

    assert [[3.0], [4.0], [5.0]] == [each.tolist() for each in row["Y"]]


@pytest.mark.triton_server
@pytest.mark.timeout(180)
def test_arrivals_are_seconds_since_the_first_request_of_the_model(recorded):
    """They are in the order of the rows."""
    recording, _ = recorded
    runs = recording.filter("double")
    arrivals = [row["arrival_s"] for row in recording.rows("double")]
    seconds = (runs[-1].started_at - runs[0].started_at).total_seconds()

    assert 0 == arrivals[0]
    assert sorted(arrivals) == arrivals
    assert arrivals[-1] == pytest.approx(seconds, abs=1e-3)


@pytest.mark.triton_server
@pytest.mark.timeout(180)
def test_rows_are_requests_that_a_model_here_takes(production, recorded):
    """`infer` accepts their inputs, and answers as recorded."""
    folder, _ = production
    models = {"model_repository": folder / "models", "startup_models": ["double"]}
    rows = [row for row in recorded[0].rows("double") if not row["error"]]
    with blsnb.Server(**models) as server:
        for row in some(rows):
            run = server.infer("double", {"X": row["X"]})
            assert row["Y"].tobytes() == run["Y"].tobytes()


def test_requests_without_an_input_value_are_left_out(redacted):
    """A warning counts them; runs with a missing output stay."""
    model = redacted[0].model_name
    count = len(redacted.filter(model))

    text = (
        f"^{count} of {count} requests of '{model}' left out: the value of an "
        "input was not recorded$"
    )
    with pytest.warns(UserWarning, match=text):
        assert [] == redacted.rows(model)


def test_an_unknown_model_is_refused(redacted):
    """The text names the models that were recorded."""
    with pytest.raises(TraceError, match=f"'other'.*{redacted[0].model_name}"):
        redacted.rows("other")


def test_an_input_hides_an_output_of_the_same_name():
    """The model here receives what the one in production received."""
    with blsnb.Server() as server:
        server.define("same", SAME, config=SAME_CONFIG)
        run = server.infer("same", {"X": np.ones(2, np.float32)})

    assert [1.0, 1.0] == Recording([run]).rows("same")[0]["X"].tolist()
    assert [2.0, 2.0] == run["X"].tolist()


def test_outputs_are_arrays_and_those_of_a_stream_are_lists():
    """The list has one array for each response that has the output."""
    with blsnb.Server() as server:
        server.define("same", SAME, config=SAME_CONFIG.replace('"X"', '"IN"', 1))
        server.define("stream", STREAM, config=STREAM_CONFIG)
        run = server.infer("same", {"IN": np.ones(2, np.float32)})
        stream = server.stream("stream", {"IN": np.ones(2, np.float32)})
        assert 3 == len(list(stream))
        recording = Recording([run, stream.run])

    assert [2.0, 2.0] == recording.rows("same")[0]["X"].tolist()
    assert [[1.0], [1.0]] == [x.tolist() for x in recording.rows("stream")[0]["X"]]
