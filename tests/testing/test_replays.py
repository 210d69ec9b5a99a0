"""A recorded run as a test."""

from __future__ import annotations

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, TRIPLE, calling, cell

from blsnb import InferenceError, Server
from blsnb.errors import TraceError, TraceFileError
from blsnb.testing import ReplayError, TestedServer

X = {"X": np.array([1, 2], np.float32)}
DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
TWO_OUTPUTS = f'{CONFIG}\noutput {{ name: "Z" data_type: TYPE_STRING dims: [ -1 ] }}\n'
STREAM = cell("""
sender = request.get_response_sender()
for k in range(3):
    sender.send(reply(x_of(request) + k))
sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
""")
BOOM = cell("""
# A comment moves the line.
raise ValueError("boom")
""")


@pytest.fixture
def server():
    """A server for tests, with a model that calls another one."""
    with TestedServer() as server:
        server.define("inner", DOUBLE, config=CONFIG)
        server.define("outer", calling("inner"), config=CONFIG)
        yield server


@pytest.fixture
def recorded(server, tmp_path):
    """A file with a run of the outer model."""
    return server.infer("outer", X).save(tmp_path / "run.blsrun")


def replayed(server, path, **options) -> str:
    """Return the message of a replay that fails."""
    with pytest.raises(ReplayError) as caught:
        server.assert_replays(path, **options)
    return str(caught.value)


def off_by(amount: float) -> str:
    """Return a model that doubles, and adds a little to the second number."""
    return cell(f"""
    added = np.array([0, {amount}], np.float32)
    return [reply(x_of(request) * 2 + added)]
    """)


TIERED = """
tensors = [pb_utils.Tensor("Y", x_of(request))]
return [pb_utils.InferenceResponse(tensors, parameters={{"tier": {}}})]
"""


def test_another_parameter_of_a_response_fails(server, tmp_path):
    """Clients receive it like an output."""
    server.define("outer", cell(TIERED.format("'gold'")), config=CONFIG)
    path = server.infer("outer", X).save(tmp_path / "run.blsrun")
    server.assert_replays(path)
    server.define("outer", cell(TIERED.format("'tin'")), config=CONFIG)

    assert "response parameter tier: 'tin', recorded: 'gold'" in replayed(server, path)


def test_models_with_the_recorded_responses_pass(server, recorded):
    """The comparison is returned."""
    comparison = server.assert_replays(recorded)

    assert [] == comparison.changes
    assert 2 == len(comparison.this.trace.spans)


def test_the_message_names_call_output_and_largest_deviation(server, recorded):
    """The first differing call is named, too."""
    server.define("inner", off_by(0.5), config=CONFIG)

    assert (
        "run.blsrun: call 0 (outer) differs from its recording "
        "(atol=0, rtol=0):\n"
        "  output 'Y': 1 of 2 differ; most by 0.5 at [1]: 4.5, was 4\n"
        "  The first difference is in call 1 (inner): "
        "output 'Y': 1 of 2 differ; most by 0.5 at [1]: 4.5, was 4"
    ) == replayed(server, recorded)


def test_differences_within_the_tolerance_pass(server, recorded):
    """Relative or absolute; a failure names the tolerance."""
    server.define("inner", off_by(0.5), config=CONFIG)

    server.assert_replays(recorded, atol=0.5)
    server.assert_replays(recorded, rtol=0.125)
    assert "(atol=0.4, rtol=0.01)" in replayed(server, recorded, atol=0.4, rtol=0.01)


def test_a_run_that_failed_has_to_fail_again(server, tmp_path):
    """The text must be equal, except folders and line numbers."""
    server.define("inner", cell('raise ValueError("boom")'), config=CONFIG)
    with pytest.raises(InferenceError) as caught:
        server.infer("outer", X)
    path = caught.value.run.save(tmp_path / "bad.blsrun")
    with TestedServer() as other:
        other.define("inner", BOOM, config=CONFIG)
        other.define("outer", calling("inner"), config=CONFIG)
        other.assert_replays(path)
        other.define("inner", BOOM.replace("boom", "bang"), config=CONFIG)
        another = replayed(other, path)
        other.define("inner", DOUBLE, config=CONFIG)
        none = replayed(other, path)

    assert "ValueError: bang" in another
    assert "recorded: error INTERNAL: Failed to process the request(s)" in another
    assert "The first difference is in call 1 (inner): error INTERNAL: " in another
    assert "\n  no error\n    recorded: error INTERNAL: " in none


def test_a_run_that_fails_now_is_reported(server, recorded):
    """The error replaces its outputs."""
    server.define("inner", BOOM, config=CONFIG)

    said = replayed(server, recorded)
    assert "ValueError: boom" in said
    assert "\n    recorded: no error" in said


def test_a_missing_model_is_reported(server, recorded):
    """The request is refused."""
    server.unload("outer")

    assert "unknown model" in replayed(server, recorded)


def test_every_output_counts(server, tmp_path):
    """Texts too, for which there is no tolerance; one that is gone; a shape."""
    text = 'pb_utils.Tensor("Z", np.array([b"a"], object))'
    both = (
        "return [pb_utils.InferenceResponse([pb_utils.Tensor('Y', x_of(request)), {}])]"
    )
    server.define("both", cell(both.format(text)), config=TWO_OUTPUTS)
    path = server.infer("both", X).save(tmp_path / "run.blsrun")

    server.define(
        "both", cell(both.format(text.replace('b"a"', 'b"b"'))), config=TWO_OUTPUTS
    )
    assert "output 'Z': 1 of 1 differ; first at [0]: 'b', was 'a'" in replayed(
        server, path, atol=100
    )
    server.define("both", cell("return [reply(x_of(request))]"), config=TWO_OUTPUTS)
    assert "output 'Z': gone: it was BYTES[1]" in replayed(server, path, atol=100)
    wide = "return [reply(np.concatenate([x_of(request)] * 2))]"
    server.define("both", cell(wide), config=TWO_OUTPUTS)
    assert "output 'Y': [4], was [2]" in replayed(server, path, atol=100)


def test_a_stream_is_compared_response_by_response(server, tmp_path):
    """Each by its number; and their count."""
    server.define("many", STREAM, config=DECOUPLED)
    stream = server.stream("many", X)
    list(stream)
    path = stream.run.save(tmp_path / "run.blsrun")
    server.assert_replays(path)

    server.define("many", STREAM.replace("+ k", "+ k // 2"), config=DECOUPLED)
    assert "  response 1, output 'Y': 2 of 2 differ; most by 1 at [0]: 1, was 2" in (
        replayed(server, path)
    )
    server.define("many", STREAM.replace("range(3)", "range(2)"), config=DECOUPLED)
    assert "  3 responses, 4 recorded" in replayed(server, path)


def test_an_error_in_a_stream_is_compared(server, tmp_path):
    """A response can have one while the stream continues."""
    sent = "sender.send(reply(x_of(request) + k))"
    error = "sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError('no')))"
    server.define("many", STREAM.replace(sent, error), config=DECOUPLED)
    stream = server.stream("many", X)
    list(stream)
    path = stream.run.save(tmp_path / "run.blsrun")
    server.assert_replays(path)

    server.define(
        "many", STREAM.replace(sent, error.replace("no", "yes")), config=DECOUPLED
    )
    assert "response 0: error: yes\n    recorded: error: no" in replayed(server, path)


def test_a_call_within_the_run_can_be_made_again(server, recorded):
    """Its id selects it, without its caller."""
    server.define("outer", BOOM, config=CONFIG)
    server.assert_replays(recorded, call=1)

    server.define("inner", TRIPLE, config=CONFIG)
    assert replayed(server, recorded, call=1).startswith("run.blsrun: call 1 (inner)")


def test_a_run_need_not_be_in_a_file(server):
    """A run from before an edit is enough."""
    run = server.infer("outer", X)
    server.assert_replays(run)
    server.define("inner", TRIPLE, config=CONFIG)

    assert f"run {run.id}: call 0 (outer)" in replayed(server, run)


def test_a_server_that_records_no_tensors_replays_nothing_with_success(recorded):
    """There is nothing to compare."""
    with TestedServer(trace_level="timestamps") as server:
        server.define("inner", DOUBLE, config=CONFIG)
        server.define("outer", calling("inner"), config=CONFIG)

        said = replayed(server, recorded)
    assert "not compared: tensors were not recorded" in said


def test_values_that_were_not_recorded_are_no_success(server, tmp_path):
    """Without values nothing is compared; without inputs nothing is executed."""
    server.define(
        "wide", cell("return [reply(np.zeros(64, np.float32))]"), config=CONFIG
    )
    run = server.infer("wide", X)
    with pytest.warns(UserWarning, match="did not fit"):
        run.save(tmp_path / "run.blsrun", budget_bytes=100)
    said = replayed(server, tmp_path / "run.blsrun")
    assert "1 output not compared: run.blsrun does not hold the values" in said

    with pytest.warns(UserWarning, match="did not fit"):
        run.save(tmp_path / "run.blsrun", budget_bytes=0)
    with pytest.raises(TraceError, match=r"does not hold the value of input 'X'"):
        server.assert_replays(tmp_path / "run.blsrun")


def test_a_file_is_looked_for_beside_the_test_and_in_the_working_folder(
    server, recorded, tmp_path, monkeypatch
):
    """The error names both."""
    beside = tmp_path / "tests"
    beside.mkdir()
    server.begin_test(beside)
    monkeypatch.chdir(tmp_path)
    server.assert_replays("run.blsrun")
    (beside / "run.blsrun").write_text("no run")
    with pytest.raises(TraceFileError):
        server.assert_replays("run.blsrun")

    with pytest.raises(
        FileNotFoundError, match=r"no recorded run .*/tests/x\.blsrun, nor"
    ):
        server.assert_replays("x.blsrun")


def test_a_recorded_run_of_any_server_is_a_test(tmp_path):
    """A notebook may have recorded it, with models that are now in a repository."""
    with Server() as server:
        server.define("inner", DOUBLE, config=CONFIG)
        path = server.infer("inner", X).save(tmp_path / "run.blsrun")
        folder = server.export_repository(tmp_path / "models")

    assert folder
    with TestedServer(
        model_repository=tmp_path / "models", startup_models="*"
    ) as tested:
        tested.assert_replays(path)


def test_a_deadline_ends_a_replay(server, recorded):
    """A model that takes too long now fails the test."""
    slow = cell("stage.sleep()\nreturn [reply(x_of(request))]")
    server.define("inner", slow, config=CONFIG)

    said = replayed(server, recorded, client_timeout_s=0.05)
    assert "  error: Deadline Exceeded" in said
    stage.clear()
