"""Client requests: their fields and their responses."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, FINAL, cell, instances

from blsnb import InferenceError, Run, Server
from blsnb.errors import InputError, OutOfResourcesError
from blsnb.parts.server_parts import parts_of
from blsnb.trace.events import CallFlag

X = {"X": np.array([1, 2], np.float32)}


@pytest.fixture
def double(server: Server) -> Server:
    """A server with one model."""
    server.define("double", DOUBLE, config=CONFIG)
    return server


def test_an_unknown_model_names_those_that_are_known(double):
    """The names follow Triton's text."""
    with pytest.raises(InferenceError) as caught:
        double.infer("dubel", X)

    assert "Request for unknown model: 'dubel' is not found" == caught.value.message
    advice = "Did you mean 'double'? Models that are loaded: double."
    assert advice == caught.value.advice
    assert [-1] == [model.version for model in caught.value.run.trace.models]


def test_a_misspelled_tensor_has_a_similar_name(double):
    """Inputs and requested outputs get suggestions; case does not count."""
    with pytest.raises(InferenceError) as refused_input:
        double.infer("double", {"x": [1]})
    with pytest.raises(InferenceError) as refused_output:
        double.infer("double", {"X": [1]}, outputs=["y"])

    assert "Did you mean 'X'? Its inputs are: X." == refused_input.value.advice
    assert "Did you mean 'Y'? Its outputs are: Y." == refused_output.value.advice


def test_infer_returns_a_run(double):
    """Outputs are arrays of the caller's own, by name."""
    run = double.infer("double", X)

    assert isinstance(run, Run)
    assert [2, 4] == run["Y"].tolist()
    run["Y"][0] = 9
    assert [9, 4] == run.outputs["Y"].tolist()
    assert run.error is None


def test_lists_take_the_configured_type(double):
    """Arrays keep their own."""
    assert [2, 4] == double.infer("double", {"X": [1, 2]})["Y"].tolist()
    with pytest.raises(InferenceError, match="data-type is 'INT64'"):
        double.infer("double", {"X": np.array([1, 2])})


@pytest.mark.parametrize(
    ("config", "shape"), [(CONFIG, [1]), (f"max_batch_size: 4 {CONFIG}", [1, 1])]
)
def test_a_number_gets_an_axis_for_each_dim_and_for_the_batch(server, config, shape):
    """It is one element, in a batch of one."""
    server.define("double", DOUBLE, config=config)
    run = server.infer("double", {"X": 3})

    assert shape == list(run["Y"].shape)
    assert [6.0] == run["Y"].ravel().tolist()


def test_the_fields_of_a_request_reach_the_model(server):
    """The model receives the client's values."""
    body = """
    import json
    stage.seen.append((
        request.request_id(),
        request.correlation_id(),
        request.flags(),
        request.timeout(),
        json.loads(request.parameters()),
        request.requested_output_names(),
    ))
    return [reply(x_of(request))]
    """
    server.define("model", cell(body), config=CONFIG)
    run = server.infer(
        "model",
        X,
        request_id="mine",
        correlation_id=7,
        sequence_start=True,
        sequence_end=True,
        timeout_us=5,
        parameters={"a": 1, "b": "c", "d": True},
        outputs=["Y"],
    )

    assert [("mine", 7, 3, 5, {"a": 1, "b": "c", "d": True}, {"Y"})] == stage.seen
    assert "mine" == run.trace.request_id


def test_only_requested_outputs_are_returned(server):
    """By default all are; an unknown one is refused."""
    config = f'{CONFIG}\noutput {{ name: "Z" data_type: TYPE_FP32 dims: [ -1 ] }}'
    body = """
    z = pb_utils.Tensor("Z", x_of(request))
    y = pb_utils.Tensor("Y", x_of(request))
    return [pb_utils.InferenceResponse([z, y])]
    """
    server.define("model", cell(body), config=config)

    assert ["Z", "Y"] == list(server.infer("model", X).outputs)
    assert ["Y"] == list(server.infer("model", X, outputs=["Y"]).outputs)
    with pytest.raises(InferenceError) as caught:
        server.infer("model", X, outputs=["Q"])
    text = "unexpected inference output 'Q' for model 'model'"
    assert text == caught.value.message
    assert "Y, Z" in caught.value.advice


def test_a_failure_carries_text_code_run_and_cause(double):
    """It can be inspected and debugged."""
    double.define("bad", cell("raise ValueError('boom')"), config=CONFIG)

    with pytest.raises(InferenceError) as caught:
        double.infer("bad", X)

    error = caught.value
    file = parts_of(double).repository.private_root / "bad" / "1" / "model.py"
    line = 1 + file.read_text().splitlines().index("        raise ValueError('boom')")
    assert (
        "Failed to process the request(s) for model 'bad_0', message: "
        f"ValueError: boom\n\nAt:\n  {file}({line}): execute\n"
    ) == error.message
    assert "INTERNAL" == error.code
    assert isinstance(error.__cause__, ValueError)
    assert (error.message,) == (error.run.trace.spans[0].error,)
    assert error.message == error.run.error


def test_an_error_that_a_model_returns_keeps_its_code(server):
    """Code and text are the model's own."""
    body = """
    error = pb_utils.TritonError("no such thing", pb_utils.TritonError.NOT_FOUND)
    return [pb_utils.InferenceResponse(error=error)]
    """
    server.define("model", cell(body), config=CONFIG)

    with pytest.raises(InferenceError) as caught:
        server.infer("model", X)

    assert ("NOT_FOUND", "no such thing") == (caught.value.code, caught.value.message)


def test_an_error_that_no_client_receives_is_a_note_of_its_request(server):
    """The calls that the model made before have none."""
    body = f"""
    ask("double", request).exec()
    sender = request.get_response_sender()
    error = pb_utils.TritonError("no")
    sender.send(pb_utils.InferenceResponse(error=error))
    sender.send(flags={FINAL})
    """
    server.define("double", DOUBLE, config=CONFIG)
    server.define("m", cell(body), config=CONFIG)
    run = server.infer("m", {"X": [1.0]})

    assert [
        [
            "An error was sent without the final flag, and the flag alone afterwards: "
            "Triton's client gets an empty success. Send both at once. It was: no"
        ],
        [],
    ] == [list(span.notes) for span in run.trace.spans]
    assert ({}, None) == (dict(run.outputs), run.error)


def test_async_infer_leaves_the_loop_free(server):
    """Several requests run concurrently while the loop continues."""
    stage.barriers["all"] = threading.Barrier(4)
    body = 'stage.barriers["all"].wait(60)\nreturn [reply(x_of(request) * 2)]'
    server.define("model", cell(body), config=instances(4))

    async def all_of_them() -> list[Run]:
        calls = [server.async_infer("model", X) for _ in range(4)]
        return await asyncio.gather(*calls)

    runs = asyncio.run(all_of_them())

    assert [[2, 4]] * 4 == [run["Y"].tolist() for run in runs]


def test_async_infer_raises_as_infer_does(server):
    """The error has text, code and run."""
    with pytest.raises(InferenceError, match="'nobody' is not found"):
        asyncio.run(server.async_infer("nobody", X))


def test_a_cancelled_async_infer_notifies_the_model(server):
    """``is_cancelled`` becomes true; the model may continue."""
    body = """
    while not request.is_cancelled():
        stage.events["asleep"].set()
    stage.events["noticed"].set()
    return [reply(x_of(request))]
    """
    server.define("model", cell(body), config=CONFIG)

    async def cancelled() -> None:
        task = asyncio.create_task(server.async_infer("model", X))
        await asyncio.to_thread(stage.events["asleep"].wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert stage.events["noticed"].wait(60)


def test_the_callers_deadline_reaches_the_model(server):
    """``is_cancelled`` becomes true, and the caller gets gRPC's text."""
    body = """
    while not request.is_cancelled():
        pass
    return [reply(x_of(request))]
    """
    server.define("model", cell(body), config=CONFIG)

    # On a busy machine the thread that runs the request begins late.
    with pytest.raises(InferenceError) as caught:
        server.infer("model", X, client_timeout_s=0.5)

    assert ("DEADLINE_EXCEEDED", "Deadline Exceeded") == (
        caught.value.code,
        caught.value.message,
    )
    assert 1 == len(caught.value.run.trace.spans)


def test_a_request_is_in_its_run_before_a_thread_is_free(double, monkeypatch):
    """The deadline may pass first; the model executes it later."""
    waiting: list[Callable[[], None]] = []
    workers = parts_of(double).engine.workers
    monkeypatch.setattr(workers, "submit_for", lambda _, work: waiting.append(work))

    with pytest.raises(InferenceError, match="Deadline Exceeded") as caught:
        double.infer("double", X, client_timeout_s=0.001, request_id="late")
    run = caught.value.run

    (span,) = run.trace.spans
    assert ("late", True) == (span.request_id, bool(span.flags & CallFlag.CANCELLED))
    assert run.trace.running
    waiting[0]()
    (span,) = run.trace.spans
    assert ["Y"] == [ref.name for ref in span.outputs]
    assert not run.trace.running


def test_a_request_for_which_no_thread_starts_is_refused_in_its_run(
    double, monkeypatch
):
    """Its run has ended with the reason."""

    def refuse(*_):
        raise OutOfResourcesError("no thread is left")

    monkeypatch.setattr(parts_of(double).engine.workers, "submit_for", refuse)

    with pytest.raises(InferenceError, match="no thread is left") as caught:
        double.infer("double", X, client_timeout_s=60)

    (span,) = caught.value.run.trace.spans
    assert "no thread is left" == span.error
    assert not caught.value.run.trace.running


def test_a_deadline_that_is_kept_changes_nothing(double):
    """The response came in time."""
    run = double.infer("double", X, client_timeout_s=60)

    assert [2, 4] == run["Y"].tolist()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"inputs": {1: [1.0]}}, "expected a dict whose keys are strings"),
        ({"priority": -1}, "priority=-1 is not valid; expected a number from 0 to"),
        ({"timeout_us": -5}, "timeout_us=-5 is not valid; expected a number from 0 to"),
        (
            {"correlation_id": 2**64},
            f"correlation_id={2**64} is not valid; expected a number from 0 to",
        ),
        ({"outputs": "Y"}, "write outputs=.'Y'."),
    ],
)
def test_invalid_fields_are_refused_at_once(double, given, said):
    """A client of Triton could not send them, either; nothing is recorded."""
    with pytest.raises(InputError, match=said):
        double.infer("double", **({"inputs": X} | given))

    assert [] == double.runs
