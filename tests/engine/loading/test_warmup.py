"""Warm-up: before a model serves, every instance answers its samples."""

from __future__ import annotations

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, FINAL, LIFE, cell

from blsnb.errors import ModelLoadError, WouldHang
from blsnb.parts.server_parts import parts_of
from blsnb.trace.events import CallFlag

X = {"X": np.array([1, 2], np.float32)}
ZERO = "data_type: TYPE_FP32 dims: [ 3 ] zero_data: true"
ANSWER = "return [reply(x_of(each)) for each in requests]"
TELL = f"stage.seen.append([x_of(each).tolist() for each in requests])\n{ANSWER}"
DECOUPLED = "model_transaction_policy { decoupled: true }\n"


def warmed(batch="batch_size: 1", given=ZERO, more=""):
    sample = f'inputs {{ key: "X" value {{ {given} }} }}'
    return f'{CONFIG} {more} model_warmup {{ name: "w" {batch} {sample} }}\n'


def counts(server):
    row = server.statistics("m")["model_stats"][0]
    return row["inference_count"], row["execution_count"]


def test_each_instance_answers_each_round_before_the_model_serves(server):
    """Each round is one counted execute of that many requests."""
    groups = "max_batch_size: 2 instance_group { kind: KIND_CPU count: 2 }"
    server.define("m", cell(TELL), config=warmed("batch_size: 2 count: 3", more=groups))

    zeros = [[0, 0, 0]]
    assert [[zeros, zeros]] * 6 == stage.seen
    assert (12, 6) == counts(server)


def test_the_same_random_bytes_come_in_each_round(server):
    """Triton uses one buffer for all of them."""
    random = "data_type: TYPE_FP32 dims: [ 3 ] random_data: true"
    tell = TELL.replace("tolist", "tobytes")
    server.define("m", cell(tell), config=warmed("batch_size: 1 count: 3", random))

    first, *others = stage.seen
    assert [first] * 2 == others


def test_a_failing_sample_fails_the_load(server):
    """All instances are finalized, and the exception can be debugged."""
    boom = cell("raise ValueError('boom')", methods=LIFE.format(1))
    with pytest.raises(ModelLoadError) as caught:
        server.define("m", boom, config=warmed())

    assert ["initialize 1", "finalize 1"] == stage.seen
    assert "failed to run warmup sample 'w': Failed to process" in caught.value.message
    assert "ValueError: boom" in caught.value.message
    cause = caught.value.__cause__
    assert isinstance(cause.__cause__.__cause__ or cause.__cause__, Exception)
    assert [] == server.models()


def test_a_failed_warm_up_of_a_reload_keeps_the_old_version(server):
    """A reload never loses the last working version."""
    server.define("m", DOUBLE, config=CONFIG)
    with pytest.raises(ModelLoadError):
        server.define("m", cell("raise ValueError('boom')"), config=warmed())

    assert [2, 4] == server.infer("m", X)["Y"].tolist()


def test_a_sample_that_the_core_refuses_fails_the_load(server):
    """No instance receives a sample; the advice is that of requests."""
    wrong = "data_type: TYPE_INT32 dims: [ 3 ] zero_data: true"
    with pytest.raises(ModelLoadError) as caught:
        server.define("m", cell(TELL), config=warmed(given=wrong))

    assert (
        "load failed for model 'm': version 1 is at UNAVAILABLE state: Invalid "
        "argument: [request id: <id_unknown>] inference input 'X' data-type is "
        "'INT32', but model 'm' expects 'FP32';\n"
    ) == caught.value.message
    assert caught.value.advice.startswith("Convert the array, for example with ")
    assert [] == stage.seen


def test_errors_of_all_requests_are_reported(server):
    """They are in the order of the requests."""
    execute = """
        errors = [pb_utils.TritonError(f"bad {n}") for n in range(len(requests))]
        return [pb_utils.InferenceResponse(error=error) for error in errors]
    """
    with pytest.raises(ModelLoadError) as caught:
        server.define(
            "m", cell(execute), config=warmed("batch_size: 2", more="max_batch_size: 2")
        )

    assert "sample 'w': bad 0; bad 1; ;" in caught.value.message


@pytest.mark.parametrize(
    ("execute", "more"), [("return [None]", ""), ("return None", DECOUPLED)]
)
def test_a_missing_response_ends_the_load(server, execute, more):
    """Triton's load call would never return, as the error says."""
    with pytest.raises(WouldHang) as caught:
        server.define(
            "m",
            cell(execute, methods=LIFE.format(1)),
            config=warmed(more=more),
        )

    assert (
        "Without this response the model stays LOADING on Triton: the load call never "
        "returns, and the server does not shut down."
    ) in str(caught.value)
    assert ["initialize 1", "finalize 1"] == stage.seen


def test_a_response_may_come_later(server):
    """The load waits for it."""
    execute = f"""
        sender = request.get_response_sender()
        stage.seen.append("executed")
        def later():
            sender.send(reply(x_of(request)), flags={FINAL})
            stage.seen.append("sent")
        thread = threading.Thread(target=later)
        thread.start()
        return [None]
    """
    server.define("m", cell(execute), config=warmed())

    assert "executed" == stage.seen[0]
    assert (1, 1) == counts(server)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_decoupled_model_is_warmed_up_when_its_last_flag_is_sent(
    server, asynchronous
):
    """Its responses are dropped, unless one is an error."""
    execute = f"""
        sender = request.get_response_sender()
        sender.send(reply(x_of(request)))
        sender.send(reply(x_of(request)))
        sender.send(flags={FINAL})
    """
    server.define(
        "m", cell(execute, asynchronous=asynchronous), config=warmed(more=DECOUPLED)
    )

    assert (1, 1) == counts(server)


def test_a_warm_up_request_cannot_be_rescheduled(server, capsys):
    """Triton's load would not end."""
    execute = (
        "request.set_release_flags("
        "pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)\nreturn [None]"
    )
    more = "sequence_batching { iterative_sequence: true }"
    with pytest.raises(WouldHang, match=r"answer it in one execution\.$"):
        server.define("m", cell(execute), config=warmed(more=more))


def test_warm_up_bypasses_scheduler_and_cache(server):
    """A sequence model only receives the controls of the sample."""
    execute = f"""
        stage.seen.append(sorted(each.name() for each in request.inputs()))
        {ANSWER}
    """
    control = (
        'control_input {{ name: "{}" control {{ kind: CONTROL_SEQUENCE_{} '
        "int32_false_true: [ 0, 1 ] }} }}"
    )
    controls = control.format("START", "START") + control.format("READY", "READY")
    start = (
        '} } inputs { key: "START" value { data_type: TYPE_INT32 dims: [ 1 ] '
        "zero_data: true"
    )
    more = f"sequence_batching {{ {controls} }}"
    server.define("m", cell(execute), config=warmed(given=ZERO + start, more=more))

    assert [["START", "X"]] == stage.seen


def test_a_model_can_call_other_models_during_warm_up(server):
    """It cannot call itself, because it is not ready."""
    server.define("double", DOUBLE, config=CONFIG)
    execute = """
        for name in ("double", "m"):
            response = ask(name, request).exec()
            text = response.error().message() if response.has_error() else "fine"
            stage.seen.append(text)
        return [reply(x_of(request))]
    """
    server.define("m", cell(execute), config=warmed())

    assert "fine" == stage.seen[0]
    assert "'m' has no available versions" in stage.seen[1]


def test_a_load_by_a_model_shows_its_warm_up(server):
    """The warm-up's calls are part of the run."""
    server.define("double", DOUBLE, config=CONFIG)
    warm = cell('return [reply(answer_of(ask("double", request).exec()))]')
    server.define("m", warm, config=warmed())
    server.unload("m")
    server.define(
        "loader",
        cell('pb_utils.load_model("m")\nreturn [reply(x_of(request))]'),
        config=CONFIG,
    )

    trace = server.infer("loader", X).trace
    spans = trace.spans

    names = [trace.models[span.model].name for span in spans]
    assert ["loader", "m", "double"] == names
    assert () == spans[1].notes
    assert 1 == spans[2].parent


def test_a_load_by_a_model_shows_the_failure_of_its_warm_up(server):
    """The call of the warm-up has the error."""
    body = """
    stage.seen.append(1)
    if len(stage.seen) == 1:
        return [reply(x_of(request))]
    error = pb_utils.TritonError("bad", pb_utils.TritonError.NOT_FOUND)
    return [pb_utils.InferenceResponse(error=error)]
    """
    server.define("m", cell(body), config=warmed())
    server.unload("m")
    loads = (
        "try:\n    pb_utils.load_model('m')\nexcept pb_utils.TritonModelException:\n"
        "    pass\nreturn [reply(x_of(request))]"
    )
    server.define("loader", cell(loads), config=CONFIG)

    _, warm = server.infer("loader", X).trace.spans

    assert warm.flags & CallFlag.ERROR
    assert ("bad", "NOT_FOUND") == (warm.error, warm.error_code)


def test_prints_of_a_warm_up_are_shown_where_the_load_is(server, capsys, caplog):
    """Its log lines are in the model's log."""
    execute = f'print("hello")\npb_utils.Logger.log_warn("careful")\n{ANSWER}'
    with caplog.at_level("WARNING", "blsnb.model"):
        server.define("m", cell(execute), config=warmed())

    assert "hello\n" == capsys.readouterr().out
    assert "careful" in caplog.text


def test_ctrl_c_ends_the_load(server, ctrl_c):
    """The server stays usable."""
    sleep = cell("stage.sleep()\nreturn [reply(x_of(request))]")
    ctrl_c.expect(lambda: server.define("m", sleep, config=warmed()))

    server.define("m", DOUBLE, config=CONFIG)
    assert [2, 4] == server.infer("m", X)["Y"].tolist()


def test_a_data_file_lies_in_the_models_folder(server, tmp_path):
    """The file is in ``warmup``, beside the versions."""
    given = 'data_type: TYPE_FP32 dims: [ 3 ] input_data_file: "ones"'
    files = {
        "1/model.py": cell(TELL),
        "config.pbtxt": warmed(given=given),
        "warmup/ones": np.ones(3, np.float32).tobytes(),
    }
    parts_of(server).models.change("m", files)

    assert [[[1, 1, 1]]] == stage.seen


@pytest.mark.parametrize("size", [2**42, 2**61])
@pytest.mark.parametrize(
    "block",
    [
        'model_warmup { name: "w" batch_size: 1 inputs { key: "X" value { '
        "data_type: TYPE_FP32 dims: [ SIZE ] random_data: true } } }",
        'sequence_batching { state { input_name: "I" output_name: "O" '
        "data_type: TYPE_FP32 dims: [ SIZE ] } }",
    ],
    ids=["warm-up", "state"],
)
def test_a_tensor_larger_than_the_memory_fails_the_load(server, block, size):
    """The error names the fields to check; no instance remains."""
    source = cell(ANSWER, methods=LIFE.format(1))
    with pytest.raises(ModelLoadError, match="out of memory: the initial") as caught:
        server.define(
            "m", source, config=f"{CONFIG} {block.replace('SIZE', str(size))}"
        )

    assert "sequence_batching.state and model_warmup" in caught.value.advice
    assert ["initialize 1", "finalize 1"] == stage.seen
