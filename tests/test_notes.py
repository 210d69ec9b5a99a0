"""Notes: what Triton lets pass in a run, said to its author; or not, if unwanted."""

from __future__ import annotations

import contextlib

import pytest
from cells import CONFIG, DOUBLE, cell

from blsnb import InferenceError, options
from blsnb.parts.server_parts import parts_of
from blsnb.views.documents import wire

X = {"X": [1.0]}
TRACED = 'ask("callee", request, trace=request.trace())'
FAILING = cell("raise ValueError('no')")


@pytest.fixture
def noted(server):
    """Runs an `execute` with these lines, beside a model `callee`."""

    def run(lines, callee=DOUBLE, config=CONFIG, **options):
        server.define("callee", callee, config=CONFIG)
        server.define("m", cell(lines, **options), config=config)
        return server.infer("m", X)

    return run


def test_a_failed_call_that_nobody_looked_at(noted):
    """With the line that made it: a BLS call does not raise."""
    run = noted(f"{TRACED}.exec()\nreturn [reply(x_of(request))]", callee=FAILING)

    (note,) = run.notes
    line = run.trace.spans[1].line
    assert note.startswith(f"The call of callee in line {line} failed, and nobody")


def test_a_failed_call_whose_output_is_missed(noted):
    """What the model raises then does not say why; the note does."""
    output = f'pb_utils.get_output_tensor_by_name({TRACED}.exec(), "Y")'
    with pytest.raises(InferenceError, match="has no attribute 'as_numpy'") as failed:
        noted(f"return [reply({output}.as_numpy())]", callee=FAILING)

    assert "nobody asked its response has_error()" in failed.value.run.notes[0]


def test_a_failed_response_of_an_iterator_that_nobody_looked_at(noted):
    """As one that comes alone."""
    lines = f"list({TRACED}.exec(decoupled=True))\nreturn [reply(x_of(request))]"

    assert "nobody asked" in noted(lines, callee=FAILING).notes[0]


@pytest.mark.parametrize(
    "look",
    [
        "answer.has_error()",
        "answer.error()",
        "return [answer]",
        "return [pb_utils.InferenceResponse(error=answer.error())]",
    ],
)
def test_a_failed_call_that_somebody_looked_at(server, noted, look):
    """A model that reads or passes on the error has seen it."""
    lines = f"answer = {TRACED}.exec()\n{look}\nreturn [reply(x_of(request))]"
    with contextlib.suppress(InferenceError):
        noted(lines, callee=FAILING)

    assert [None, None] == [
        call.notes for call in parts_of(server).recorder.runs[-1].calls
    ]


def test_a_call_without_a_trace_is_noted_once_in_a_run(noted):
    """The picture has it all the same; Triton's own would not."""
    lines = 'for _ in range(2):\n    ask("callee", request).exec()\n'
    run = noted(f"{lines}return [reply(x_of(request))]")

    (note,) = run.notes
    line = run.trace.spans[1].line
    assert note.startswith(f"The call of callee in line {line} is made without trace=")


def test_a_call_whose_line_is_not_known_is_noted_without_one(noted):
    """A pool's thread calls `exec` itself: no line of the model does."""
    run = noted(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(1) as pool:\n"
        '    answer = pool.submit(ask("callee", request).exec).result()\n'
        "return [answer]"
    )

    assert run.notes[0].startswith("The call of callee is made without trace=")


def test_a_call_with_a_trace_needs_no_note(noted):
    """It is as Triton wants it."""
    assert [] == noted(f"return [{TRACED}.exec()]").notes


def test_outputs_are_held_against_the_configuration(noted):
    """Type and shape, a missing one and one too many."""
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
    """Beside the call that they belong to."""
    run = noted('return [ask("callee", request).exec()]')

    assert {"0": run.notes} == wire.encode(run.trace)[0]["notes"]


def test_notes_that_are_not_wanted_are_nowhere(noted, monkeypatch):
    """Neither in the run nor in its view; they are back when they are wanted again."""
    run = noted('return [ask("callee", request).exec()]')
    assert 1 == len(run.notes)

    monkeypatch.setattr(options, "notes", False)
    assert [] == run.notes
    assert {} == wire.encode(run.trace)[0]["notes"]

    monkeypatch.setattr(options, "notes", True)
    assert 1 == len(run.notes)
