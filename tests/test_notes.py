"""What Triton lets pass in a run, said to its author; or not, if unwanted."""

from __future__ import annotations

import contextlib
import threading

import pytest
import stage
from cells import CONFIG, DOUBLE, FINAL, cell
from views.encoded import encode
from waiting import until

from blsnb import InferenceError, options
from blsnb.parts.server_parts import parts_of

X = {"X": [1.0]}
DECOUPLED = "model_transaction_policy { decoupled: true }"
TRACED = 'ask("callee", request, trace=request.trace())'
FAILING = cell("raise ValueError('no')")


@pytest.fixture
def noted(server):
    """Run an `execute` with these lines beside a model `callee`."""

    def run(lines, callee=DOUBLE, config=CONFIG, **options):
        server.define("callee", callee, config=CONFIG)
        server.define("m", cell(lines, **options), config=config)
        return server.infer("m", X)

    return run


def test_an_unchecked_failed_call_is_noted(noted):
    """The note has the line of the call, because a BLS call does not raise."""
    run = noted(f"{TRACED}.exec()\nreturn [reply(x_of(request))]", callee=FAILING)

    (note,) = run.notes
    line = run.trace.spans[1].line
    assert note.startswith(f"The call of callee in line {line} failed, but has_error()")


def test_a_failed_call_whose_output_is_read_is_noted(noted):
    """The note explains an exception of the model that does not."""
    output = f'pb_utils.get_output_tensor_by_name({TRACED}.exec(), "Y")'
    with pytest.raises(InferenceError, match="has no attribute 'as_numpy'") as failed:
        noted(f"return [reply({output}.as_numpy())]", callee=FAILING)

    assert "has_error() of its response was never called" in failed.value.run.notes[0]


def test_an_unchecked_failed_response_of_an_iterator_is_noted(noted):
    """The note is that of a single response."""
    lines = f"list({TRACED}.exec(decoupled=True))\nreturn [reply(x_of(request))]"

    assert "was never called" in noted(lines, callee=FAILING).notes[0]


@pytest.mark.parametrize(
    "look",
    [
        "answer.has_error()",
        "answer.error()",
        "return [answer]",
        "return [pb_utils.InferenceResponse(error=answer.error())]",
    ],
)
def test_a_checked_failed_call_is_not_noted(server, noted, look):
    """A model that reads or returns the error has checked it."""
    lines = f"answer = {TRACED}.exec()\n{look}\nreturn [reply(x_of(request))]"
    with contextlib.suppress(InferenceError):
        noted(lines, callee=FAILING)

    assert [None, None] == [
        call.notes for call in parts_of(server).recorder.runs[-1].calls
    ]


def test_a_call_without_a_trace_has_no_note(noted):
    """It changes neither results nor speed nor behaviour on Triton."""
    lines = 'return [ask("callee", request).exec()]'

    assert [] == noted(lines).notes


def test_outputs_as_configured_have_no_note(noted):
    """Their names, types and shapes are valid."""
    assert [] == noted("return [reply(x_of(request))]").notes


def test_a_model_that_ignores_that_its_client_left(server):
    """The note names the method to call; a model that checks gets no note."""
    assert any("is_cancelled()" in note for note in _left(server, "pass").notes)
    assert [] == _left(server, "request.is_cancelled()").notes


def _left(server, ask):
    """Return the run of a model that continues after its client has left."""
    left = stage.values["left"] = threading.Event()
    body = f"""
    while not stage.values["left"].is_set():
        {ask}
        time.sleep(0.001)
    return [reply(x_of(request))]
    """
    server.define("m", cell(body), config=CONFIG)
    with pytest.raises(InferenceError) as caught:
        server.infer("m", X, client_timeout_s=0.05)
    left.set()
    run = caught.value.run
    assert until(lambda: not run.trace.running)
    return run


def test_a_client_that_stays_is_no_reason_for_a_note(noted):
    """A model need not check while its client waits."""
    assert [] == noted("return [reply(x_of(request))]").notes


def test_a_stream_that_was_left(server):
    """A decoupled model that continues without checking gets the note, too."""
    body = f"""
    sender = request.get_response_sender()
    for _ in range(50):
        sender.send(reply(x_of(request)))
        time.sleep(0.001)
    sender.send(flags={FINAL})
    """
    server.define("m", cell(body), config=f"{CONFIG}\n{DECOUPLED}")
    stream = server.stream("m", X)
    next(stream)
    stream.cancel()
    assert until(lambda: not stream.run.trace.running)

    (note,) = stream.run.notes
    assert "is_cancelled()" in note


@pytest.mark.parametrize(("flag", "is_noted"), [("", True), (f", {FINAL}", False)])
def test_a_failure_after_a_response_without_the_final_flag_is_noted(
    server, flag, is_noted
):
    """The failure is a second response; after the final flag Triton only logs it."""
    body = f"""
    request.get_response_sender().send(reply(x_of(request)){flag})
    raise ValueError("late")
    """
    server.define("m", cell(body), config=CONFIG)
    notes = _run(server, X).notes

    assert is_noted == any(
        "without the final flag before this" in text for text in notes
    )


@pytest.mark.parametrize(("inputs", "is_noted"), [({}, True), (X, False)])
def test_a_batch_without_inputs_is_noted(server, inputs, is_noted):
    """All inputs are optional, but the batch size is that of the first one."""
    optional = CONFIG.replace("input {", "max_batch_size: 4 input { optional: true")
    server.define("m", DOUBLE, config=optional)
    run = _run(server, {name: [value] for name, value in inputs.items()})

    assert is_noted == any("the batch size is not known" in text for text in run.notes)


def _run(server, inputs):
    try:
        return server.infer("m", inputs)
    except InferenceError as error:
        return error.run


def test_outputs_that_contradict_the_configuration_are_noted(noted):
    """Type, shape, missing and unknown outputs are compared."""
    config = f'{CONFIG} output {{ name: "Z" data_type: TYPE_INT8 dims: [ 1 ] }}'
    run = noted(
        'wrong = [pb_utils.Tensor("Y", np.zeros((1, 1))), pb_utils.Tensor("W", '
        "np.zeros(1))]\nreturn [pb_utils.InferenceResponse(wrong)]",
        config=config,
    )

    assert ["'W'", "'Z'", "FP64", "[1, 1]"] == [
        next(word for word in ("'W'", "'Z'", "FP64", "[1, 1]") if word in note)
        for note in run.notes
    ]


def test_notes_are_in_the_view(noted):
    """Each note is shown with its call."""
    run = noted("return [pb_utils.InferenceResponse([])]")

    assert 1 == len(run.notes)
    assert {"0": run.notes} == encode(run.trace)[0]["notes"]


def test_notes_can_be_switched_off(noted, monkeypatch):
    """Neither run nor view has them until they are switched on again."""
    run = noted("return [pb_utils.InferenceResponse([])]")
    assert 1 == len(run.notes)

    monkeypatch.setattr(options, "notes", False)
    assert [] == run.notes
    assert {} == encode(run.trace)[0]["notes"]

    monkeypatch.setattr(options, "notes", True)
    assert 1 == len(run.notes)
