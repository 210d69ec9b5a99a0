"""What Triton lets pass in a response, blsnb notes."""

import numpy as np
from cells import cell

from blsnb.engine.instance.results import OutputNotes
from blsnb.model.config import parse_pbtxt
from blsnb.pb_utils.message import ResponseMessage

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
