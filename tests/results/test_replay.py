"""Replaying a recorded call on its model as it is now."""

from __future__ import annotations

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, TRIPLE, calling, cell
from spans import JSON, assemble, message, span
from whole_text import whole

from blsnb import InferenceError, Run, Server, load_run
from blsnb.errors import InputError, ServerClosedError, TraceError
from blsnb.otlp.decoding import decode
from blsnb.parts.server_parts import parts_of
from blsnb.results.loaded_run import load_trace
from blsnb.results.run import ImportedRun
from blsnb.tensors.difference import ValueChange
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, ModelInfo

X = {"X": np.array([1, 2], np.float32)}
DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
STREAM = cell("""
sender = request.get_response_sender()
for k in range(3):
    sender.send(reply(x_of(request) + k))
sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
""")


@pytest.fixture
def run(server: Server) -> Run:
    """A run of a model that calls another one."""
    server.define("inner", DOUBLE, config=CONFIG)
    server.define("outer", calling("inner"), config=CONFIG)
    return server.infer("outer", X, request_id="mine")


def test_a_call_is_executed_again_on_the_model_as_it_is_now(run, server):
    """It has the recorded inputs and no caller; both runs are shown."""
    server.define("inner", TRIPLE, config=CONFIG)
    server.define("outer", cell("raise ValueError('not asked')"), config=CONFIG)
    replayed = run.replay(1)

    assert [3, 6] == replayed.this["Y"].tolist()
    assert [2, 4] == replayed.baseline["Y"].tolist()
    [difference] = replayed.differences
    assert (ValueChange.VALUES, 2, 2.0, (1,)) == (
        difference.change,
        difference.differing,
        difference.largest,
        difference.index,
    )
    assert repr(replayed).endswith("baseline, 1 changed>")
    assert replayed.this.id in {record.id for record in server.runs}


def test_a_call_with_the_same_response_has_no_differences(run):
    """Without a name the first call is replayed."""
    replayed = run.replay()

    assert [] == replayed.differences == replayed.changes
    assert 2 == len(replayed.this.trace.spans) == len(replayed.baseline.trace.spans)
    assert repr(replayed).endswith("no call changed>")


def test_a_call_is_named_by_its_span_too(run):
    """The span must belong to the run's trace."""
    inner = run.trace.spans[1]

    assert [2, 4] == run.replay(inner).this["Y"].tolist()


def test_a_call_is_named_by_its_model_if_that_was_called_once(run):
    """The name is that of the view."""
    assert [2, 4] == run.replay("inner").this["Y"].tolist()


def test_a_model_that_was_called_more_often_names_no_call(server):
    """The error lists ids to choose from."""
    server.define("inner", DOUBLE, config=CONFIG)
    body = """
    for _ in range(2):
        answer = answer_of(ask("inner", request).exec())
    return [reply(answer)]
    """
    server.define("outer", cell(body), config=CONFIG)
    run = server.infer("outer", X)

    with pytest.raises(TraceError, match=r"has 2 calls of 'inner': .* as 1, 2$"):
        run.replay("inner")


def test_calls_that_are_only_counted_are_calls_of_a_model(server):
    """A long run keeps some of its calls."""
    parts_of(server).recorder.keep_calls = 40
    server.define("inner", DOUBLE, config=CONFIG)
    body = """
    for _ in range(100):
        answer = answer_of(ask("inner", request).exec())
    return [reply(answer)]
    """
    server.define("outer", cell(body), config=CONFIG)
    run = server.infer("outer", X)

    with pytest.raises(TraceError, match=r"^the run has 100 calls of 'inner': "):
        run.replay("inner")


@pytest.mark.parametrize(
    ("calls", "listed"),
    [(8, "1, 2, 3, 4, 5, 6, 7, 8"), (9, "1, 2, 3, 4, 5, 6, 7, 8 and 1 more")],
)
def test_the_first_eight_of_many_calls_are_listed(server, calls, listed):
    """The others are counted."""
    server.define("inner", DOUBLE, config=CONFIG)
    body = f"""
    for _ in range({calls}):
        answer = answer_of(ask("inner", request).exec())
    return [reply(answer)]
    """
    server.define("outer", cell(body), config=CONFIG)
    run = server.infer("outer", X)

    with pytest.raises(TraceError) as refused:
        run.replay("inner")

    assert (
        f"the run has {calls} calls of 'inner': name one by its id, such as {listed}"
    ) == str(refused.value)


def test_a_call_is_named_by_what_a_view_has_selected(run):
    """The value is an id, or -1 if nothing is selected."""
    view = run.widget()
    with pytest.raises(TraceError, match=r"no call -1.*without a selected call"):
        run.replay(view.selected)
    view.selected = 1

    assert [2, 4] == run.replay(view.selected).this["Y"].tolist()
    assert [2, 4] == run.replay(np.int32(1)).this["Y"].tolist()


def test_the_request_is_the_recorded_one(server):
    """Id, parameters, priority, timeout, outputs and sequence fields are equal."""
    body = """
    stage.seen.append((
        request.request_id(), request.correlation_id(), request.flags(),
        request.timeout(), request.parameters(), request.requested_output_names(),
    ))
    return [reply(x_of(request))]
    """
    server.define("told", cell(body), config=CONFIG)
    asking = (
        'pb_utils.InferenceRequest(model_name="told", inputs=request.inputs(), '
        'requested_output_names=["Y"], request_id="in", correlation_id=9, flags=1, '
        'timeout=1000, parameters={"k": 1, "s": "text", "b": True}).exec()'
    )
    server.define("outer", cell(f"return [reply(answer_of({asking}))]"), config=CONFIG)
    run = server.infer("outer", X)
    run.replay(1)
    first, again = stage.seen

    assert ("in", 9, 1, 1000) == first[:4]
    assert first == again


def test_a_failed_call_is_replayed(server):
    """After the model was fixed, the missing error is a difference."""
    server.define("bad", cell("raise ValueError('boom')"), config=CONFIG)
    with pytest.raises(InferenceError) as caught:
        server.infer("bad", X)
    server.define("bad", DOUBLE, config=CONFIG)
    replayed = caught.value.run.replay(0)

    [change] = replayed.changes
    assert "" == change.error[0]
    assert "boom" in change.error[1]
    assert [2, 4] == replayed.this["Y"].tolist()


def test_a_call_that_was_refused_is_replayed(server):
    """It requested an unknown output, and is refused again."""
    server.define("inner", DOUBLE, config=CONFIG)
    asks = calling("inner").replace('["Y"]', '["Q"]')
    server.define("outer", asks, config=CONFIG)
    with pytest.raises(InferenceError) as caught:
        server.infer("outer", X)
    text = "unexpected inference output 'Q' for model 'inner'"

    replayed = caught.value.run.replay(1)

    assert text in str(caught.value)
    assert (text, text) == (replayed.this.error, replayed.baseline.error)
    assert [] == replayed.changes


def test_a_call_that_fails_now_does_not_raise(run, server):
    """The new run has the error, beside the old response."""
    server.define("inner", cell("raise ValueError('broken')"), config=CONFIG)
    replayed = run.replay(1)

    assert "broken" in replayed.this.error
    assert [2, 4] == replayed.baseline["Y"].tolist()
    server.unload("inner")
    assert "unknown model" in run.replay(1).this.error


def test_a_decoupled_call_is_read_to_its_end(server):
    """All its responses are compared."""
    server.define("many", STREAM, config=DECOUPLED)
    stream = server.stream("many", X)
    list(stream)
    server.define("many", STREAM.replace("range(3)", "range(2)"), config=DECOUPLED)
    replayed = stream.run.replay(0)

    assert [[1, 2], [2, 3]] == [r["Y"].tolist() for r in replayed.this.responses[:2]]
    [change] = replayed.changes
    # The final flag came alone, which is a response, too.
    assert (3, 4) == change.responses


def test_a_decoupled_call_of_a_model_is_replayed_as_a_stream(server):
    """It is a client request, although a model made the recorded call."""
    server.define("many", STREAM, config=DECOUPLED)
    body = """
    for response in ask("many", request).exec(decoupled=True):
        pass
    return [reply(x_of(request))]
    """
    server.define("outer", cell(body), config=CONFIG)
    replayed = server.infer("outer", X).replay(1)

    assert 3 == len([r for r in replayed.this.responses if r.outputs])
    assert [] == replayed.changes


def test_errors_of_a_stream_keep_their_place(server):
    """Recorded and new responses keep their order."""
    failing = cell("""
    sender = request.get_response_sender()
    sender.send(reply(x_of(request)))
    sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("no more")))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    """)
    server.define("many", failing, config=DECOUPLED)
    stream = server.stream("many", X)
    list(stream)
    replayed = stream.run.replay(0)

    for run in (replayed.this, replayed.baseline):
        assert [None, "no more", None] == [each.error for each in run.responses]
        assert run.error is None
    assert [] == replayed.changes


def test_a_call_that_a_stand_in_answered_is_replayed_on_the_model(server):
    """The model may have a backend by now."""
    config = f'backend: "tensorrt"\n{CONFIG}'
    parts_of(server).models.change("leaf", {"config.pbtxt": config, "1/model": "x"})
    server.standin("leaf", zeros=True)
    server.define("outer", calling("leaf"), config=CONFIG)
    run = server.infer("outer", X)
    parts_of(server).models.change("leaf", {"1/model": None})
    server.define("leaf", DOUBLE, config=CONFIG)
    replayed = run.replay("leaf")

    assert [2, 4] == replayed.this["Y"].tolist()
    assert 4 == replayed.differences[0].largest
    assert (0, 1) == server.infer("outer", X).compare(run).trace.alignment.baseline_of


def test_a_value_that_is_gone_cannot_be_replayed():
    """The error names it, and how to keep values."""
    with Server(trace_budget_bytes=20) as server:
        server.define("double", DOUBLE, config=CONFIG)
        run = server.infer("double", X)
        server.infer("double", X)

        with pytest.raises(
            TraceError,
            match=r"value of input 'X' is no longer kept: "
            r"trace_budget_bytes=20 .*run\.keep\(\)",
        ):
            run.replay(0)


def test_a_kept_run_can_be_replayed():
    """Later runs do not matter."""
    with Server(trace_budget_bytes=20) as server:
        server.define("double", DOUBLE, config=CONFIG)
        run = server.infer("double", X).keep()
        server.infer("double", X)

        assert [] == run.replay(0).changes


def test_inputs_that_were_never_recorded_are_an_error():
    """Without them it would be another request."""
    with Server(trace_level="timestamps") as server:
        server.define("double", DOUBLE, config=CONFIG)
        run = server.infer("double", X)

        text = (
            "call 0 (double) cannot be replayed: its inputs were not recorded; at "
            "trace_level='tensors' they are"
        )
        with pytest.raises(TraceError, match=whole(text)):
            run.replay(0)


@pytest.mark.parametrize(
    ("kind", "has_ended", "text"),
    [
        ("span", True, "is a span opened by model code, not a request"),
        ("model", False, "has not ended: its inputs are recorded at its end"),
    ],
    ids=["span", "running"],
)
def test_a_call_that_is_no_ended_request_is_refused(kind, has_ended, text):
    """The error names the call and the reason."""
    call = Call(ModelInfo("m", 1, "python", "cpu", kind, ""), None, 0)
    call.request_start_ns, call.ended = 1_000, has_ended
    run = ImportedRun(trace_of("r", [call], 2_000))

    with pytest.raises(TraceError, match=whole(f"call 0 (m) {text}")):
        run.replay(0)


def test_missing_inputs_are_not_taken_for_a_request_without_inputs():
    """If all inputs are optional, a request without inputs would be another one."""
    optional = CONFIG.replace('name: "X"', 'name: "X" optional: true')
    with Server(trace_level="timestamps") as server:
        server.define("double", DOUBLE, config=optional)
        run = server.infer("double", X)
        with pytest.raises(
            TraceError,
            match=r"call 0 \(double\) cannot be replayed: its inputs were "
            r"not recorded; at trace_level='tensors' they are$",
        ):
            run.replay(0)


def test_a_request_without_inputs_is_replayed(server):
    """Its recorded response shows that it had none."""
    optional = CONFIG.replace('name: "X"', 'name: "X" optional: true')
    body = "return [reply(np.ones(1, np.float32))]"
    server.define("one", cell(body), config=optional)

    assert [] == server.infer("one", {}).replay(0).changes


@pytest.mark.parametrize("seconds", ["1", float("nan")])
def test_a_deadline_is_a_number(seconds, run):
    """The deadline is checked as for any request."""
    with pytest.raises(
        InputError, match=r"client_timeout_s=.* is not valid; expected seconds"
    ):
        run.replay(0, client_timeout_s=seconds)


@pytest.mark.parametrize("call", [2, -1])
def test_an_unknown_call_is_an_error_with_the_calls_that_exist(call, run):
    """It lists the ids."""
    with pytest.raises(TraceError, match=f"no call {call}; its calls are 0 to 1"):
        run.replay(call)


@pytest.mark.parametrize("call", [1.0, True, np.bool_(True), b"inner"])
def test_a_call_is_an_id_a_name_or_a_span(call, run):
    """Another type is an error."""
    text = (
        f"call={call!r} is not valid; expected its id, such as 3, its model's name, or "
        "its span, such as run.trace.spans[3]"
    )
    with pytest.raises(TypeError, match=whole(text)):
        run.replay(call)


def test_a_model_that_was_not_called_is_an_error(run):
    """The error names the called models."""
    text = "the run has no call of 'iner'; it has calls of outer, inner"
    with pytest.raises(TraceError, match=whole(text)):
        run.replay("iner")


def test_a_run_without_calls_names_the_level_that_records_them():
    """There are no calls to choose from."""
    with Server(trace_level="off") as server:
        server.define("double", DOUBLE, config=CONFIG)
        run = server.infer("double", X)
        text = "the run has no call of 'double'; no calls were recorded"
        with pytest.raises(TraceError, match=whole(text)):
            run.replay("double")
        with pytest.raises(TraceError, match="no calls were recorded"):
            run.replay(0)


def test_a_server_of_another_type_is_refused(run):
    """It is refused before anything is executed."""
    expected = r"server='here' is not valid; expected a blsnb\.Server"
    with pytest.raises(TypeError, match=expected):
        run.replay(0, server="here")


def test_what_was_replayed_can_be_replayed_again(run):
    """The new run and the recorded part can be replayed."""
    replayed = run.replay(1)

    assert [] == replayed.this.replay(0).changes
    assert [] == replayed.baseline.replay().changes
    assert [] == replayed.baseline.replay(1).changes
    with pytest.raises(TraceError, match="no call 0; it has 1"):
        replayed.baseline.replay(0)


def test_a_call_of_another_run_is_an_error(run, server):
    """Calls are numbered in each run."""
    other = server.infer("outer", X)

    text = "call 1 (inner) belongs to another run"
    with pytest.raises(TraceError, match=whole(text)):
        run.replay(other.trace.spans[1])


def test_a_server_that_was_closed_replays_nothing():
    """Another server does, if it has the model."""
    with Server() as server:
        server.define("double", DOUBLE, config=CONFIG)
        run = server.infer("double", X)
    with pytest.raises(ServerClosedError):
        run.replay(0)

    with Server() as server:
        server.define("double", TRIPLE, config=CONFIG)
        assert [3, 6] == run.replay(0, server=server).this["Y"].tolist()


def test_a_run_of_a_file_is_replayed_on_a_given_server(run, server, tmp_path):
    """A loaded run belongs to no server."""
    loaded = load_run(run.save(tmp_path / "run.blsrun"))
    text = (
        "this run does not belong to a server: pass one that executes the call, such "
        "as run.replay(0, server=blsnb.server())"
    )
    with pytest.raises(TraceError, match=whole(text)):
        loaded.replay(1)

    server.define("inner", TRIPLE, config=CONFIG)
    assert [3, 6] == loaded.replay(1, server=server).this["Y"].tolist()


def test_a_value_that_a_file_does_not_hold_cannot_be_replayed(run, server, tmp_path):
    """The error names the file."""
    with pytest.warns(UserWarning, match="did not fit"):
        run.save(tmp_path / "run.blsrun", budget_bytes=0)
    loaded = load_run(tmp_path / "run.blsrun")

    with pytest.raises(TraceError, match=r"run\.blsrun does not hold .* input 'X'"):
        loaded.replay(1, server=server)


def test_a_call_of_a_servers_trace_file_is_replayed(run, server, tmp_path):
    """A request to a production server is executed here."""
    path = run.export_trace(tmp_path / "trace.json")
    [imported] = load_trace(path)

    assert [2, 4] == imported.replay(1, server=server).this["Y"].tolist()


def test_a_span_of_another_program_is_no_request(server):
    """It came from a Collector, between a client and its model."""
    [trace] = assemble(decode(message(span(1, 1, name="client")), JSON).spans)

    text = "call 0 (client) is a span opened by model code, not a request"
    with pytest.raises(TraceError, match=whole(text)):
        ImportedRun(trace).replay(0, server=server)


def test_a_deadline_ends_a_replay(server):
    """The model takes too long now."""
    server.define("slow", DOUBLE, config=CONFIG)
    run = server.infer("slow", X)
    body = "stage.sleep()\nreturn [reply(x_of(request))]"
    server.define("slow", cell(body), config=CONFIG)
    replayed = run.replay(0, client_timeout_s=0.05)

    assert "Deadline Exceeded" in replayed.this.error
    stage.clear()


def test_a_recorded_request_of_a_sequence_is_replayed_without_its_controls(tmp_path):
    """A recorder beside a real server sees the inputs that its batcher adds."""
    batched = f"max_batch_size: 1 {CONFIG}"
    inputs = batched + 'input { name: "START" data_type: TYPE_FP32 dims: [ 1 ] }'
    control = "control { kind: CONTROL_SEQUENCE_START fp32_false_true: [0, 1] }"
    batcher = f'sequence_batching {{ control_input {{ name: "START" {control} }} }}'
    with Server() as server:
        server.define("sums", DOUBLE, config=inputs)
        one = np.ones((1, 1), np.float32)
        flags = {"correlation_id": 7, "sequence_start": True, "sequence_end": True}
        run = server.infer("sums", {"X": one, "START": one}, **flags)
        server.define("sums", DOUBLE, config=batched + batcher)

        replayed = run.replay(server=server).this

    assert [[2]] == replayed["Y"].tolist()
