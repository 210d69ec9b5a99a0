"""What Triton lets pass in a response, blsnb notes."""

import numpy as np
import pytest
from cells import cell

from blsnb.engine.instance.results import OutputNotes
from blsnb.model.config import parse_pbtxt
from blsnb.pb_utils.message import ResponseMessage
from blsnb.tensors.dtypes import of_array
from blsnb.tensors.ref import freeze

CONFIG = """
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 3 ] }
output { name: "Z" data_type: TYPE_FP32 dims: [ -1 ] }
"""


def notes(server, returned, **options):
    """Return the notes of a run whose model returns these outputs."""
    source = cell(
        f"return [pb_utils.InferenceResponse([{returned}]) for _ in requests]"
    )
    server.define("model", source, config=CONFIG)
    return server.infer("model", {"X": np.ones(2, np.float32)}, **options).notes


GOOD_Y = 'pb_utils.Tensor("Y", np.zeros(3, np.float32))'
GOOD_Z = 'pb_utils.Tensor("Z", np.zeros(7, np.float32))'


def test_a_response_as_configured_has_no_note(server):
    """Valid names, types and shapes get no note, whatever a variable axis has."""
    assert [] == notes(server, f"{GOOD_Y}, {GOOD_Z}")


def test_an_output_that_is_missing_is_named(server):
    """Triton returns a success without it."""
    (note,) = notes(server, GOOD_Y)

    assert note.startswith("model did not return the requested output 'Z'")


def test_an_output_that_was_not_requested_may_be_missing(server):
    """Only requested outputs can be missing."""
    assert [] == notes(server, GOOD_Y, outputs=["Y"])


def test_an_unknown_output_is_named_with_those_there_are(server):
    """Triton drops it silently; the usual cause is a typo."""
    extra = 'pb_utils.Tensor("YY", np.zeros(3, np.float32))'
    (note,) = notes(server, f"{GOOD_Y}, {GOOD_Z}, {extra}")

    assert "an output 'YY' that its configuration does not have" in note
    assert note.endswith("Its outputs are: Y, Z.")


def test_an_output_of_a_model_without_outputs_is_named():
    """The note says that there are no others."""
    outputs = OutputNotes(parse_pbtxt('name: "model"'))
    (note,) = outputs.of(ResponseMessage(dropped=("Y",)), ())

    assert note.startswith("model returned an output 'Y' that its configuration does ")
    assert note.endswith("Its outputs are: none.")


def test_an_output_that_was_not_requested_is_not_unknown(server):
    """Dropping it is correct, and gets no note."""
    assert [] == notes(server, f"{GOOD_Y}, {GOOD_Z}", outputs=["Z"])


def test_an_output_of_another_type_is_named(server):
    """Triton forwards it unchanged; the next model refuses it."""
    wrong = 'pb_utils.Tensor("Y", np.zeros(3))'
    (note,) = notes(server, f"{wrong}, {GOOD_Z}")

    assert "returned output 'Y' as FP64, its configuration says FP32" in note


def test_an_output_of_another_shape_is_named(server):
    """Triton forwards it unchanged; the next model refuses it."""
    wrong = 'pb_utils.Tensor("Y", np.zeros((1, 3), np.float32))'
    (note,) = notes(server, f"{wrong}, {GOOD_Z}")

    assert "with shape [1, 3], its configuration says [3]" in note


def output(name, dtype, *shape):
    """Return a tensor that a model returned."""
    array = np.zeros(shape, dtype)
    return freeze(name, array, of_array(array.dtype))


PASSED = "; Triton passes it on as it is, and the next model may refuse it."
MISSING = (
    "model did not return the requested output 'Z'; its caller receives a successful "
    "response without it, as on Triton."
)
UNKNOWN = (
    "model returned an output 'Q' that its configuration does not have; Triton drops "
    "it silently. Its outputs are: Y, Z."
)
Y, Z = output("Y", np.float32, 3), output("Z", np.float32, 7)
TEXTS = {
    "right": ((Y, Z), (), ("Y", "Z"), []),
    "not requested": ((Y,), ("Z",), ("Y",), []),
    "missing": ((Y,), (), ("Y", "Z"), [MISSING]),
    "unknown": ((Y, Z), ("Q",), ("Y", "Z"), [UNKNOWN]),
    "both": ((Y,), ("Q",), ("Y", "Z"), [UNKNOWN, MISSING]),
    "type and shape": (
        (output("Y", np.int64, 2), Z),
        (),
        ("Y", "Z"),
        [
            "model returned output 'Y' as INT64, its configuration says FP32" + PASSED,
            "model returned output 'Y' with shape [2], its configuration says [3]"
            + PASSED,
        ],
    ),
}


@pytest.mark.parametrize(
    ("outputs", "dropped", "requested", "texts"), TEXTS.values(), ids=TEXTS
)
def test_each_note_has_the_value_and_the_configured_one(
    outputs, dropped, requested, texts
):
    """Notes are repeated with each such response."""
    notes = OutputNotes(parse_pbtxt(f'name: "model" {CONFIG}'))
    wrong = ResponseMessage(outputs, dropped=dropped)

    for _ in range(2):
        assert texts == [*notes.of(wrong, requested)]
        assert [] == [*notes.of(ResponseMessage((Y, Z)), ("Y", "Z"))]


@pytest.mark.parametrize(
    ("config", "shape", "texts"),
    [
        ("dims: [ 3 ] } max_batch_size: 1", (1, 3), 0),
        ("dims: [ 3 ] } max_batch_size: 1", (3,), 1),
        ("dims: [ 3 ] reshape { shape: [ 1, 3 ] } }", (1, 3), 0),
        ("dims: [ 3 ] reshape { shape: [ 1, 3 ] } }", (3,), 1),
        ("dims: [ 3 ] } max_batch_size: 0", (3,), 0),
    ],
)
def test_the_shape_that_a_model_returns_has_the_batch_axis(config, shape, texts):
    """If it is reshaped, it is the inner shape."""
    text = f'name: "model" output {{ name: "Y" data_type: TYPE_FP32 {config}'
    notes = OutputNotes(parse_pbtxt(text))
    response = ResponseMessage((output("Y", np.float32, *shape),))

    assert texts == len(notes.of(response, ("Y",)))


def test_only_some_valid_responses_are_remembered():
    """A model that returns ever new shapes does not fill the memory."""
    notes = OutputNotes(parse_pbtxt(CONFIG))
    looked = []
    notes._found = lambda response, requested: looked.append(response) or []
    for length in (*range(513), 512, 0):
        array = np.zeros(length, np.float32)
        z = freeze("Z", array, of_array(array.dtype))
        assert [] == [*notes.of(ResponseMessage((z,)), ("Z",))]

    assert 514 == len(looked)
