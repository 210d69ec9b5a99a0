"""What is refused before a model sees it, and what its author should do."""

from __future__ import annotations

import numpy as np
import pytest

from blsnb.engine.request.validation import (
    RequestError,
    RequestValidator,
    check_correlation_id,
    fits,
)
from blsnb.model.config import parse_pbtxt
from blsnb.model.normalization import normalise
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import RequestFields
from blsnb.tensors.dtypes import BY_DATATYPE, BYTES, of_array
from blsnb.tensors.ref import TensorRef, freeze

PLAIN = """
input { name: "A" data_type: TYPE_FP32 dims: [ 4 ] }
input { name: "B" data_type: TYPE_FP32 dims: [ -1, 2 ] optional: true }
output { name: "Y" data_type: TYPE_FP32 dims: [ 4 ] }
"""
BATCH = f"{PLAIN} max_batch_size: 4"


def refuses(config: str, *arrays: tuple[str, np.ndarray], **fields) -> RequestError:
    """Return the error of a request with these inputs."""
    validator = RequestValidator(normalise(parse_pbtxt(config), model_name="m"))
    with pytest.raises(RequestError) as caught:
        validator.check(message(*arrays, **fields))
    return caught.value


def message(
    *arrays: tuple[str, np.ndarray], requested_outputs=(), **fields
) -> RequestMessage:
    """Return a request with these inputs."""
    inputs = tuple(ref(*array) for array in arrays)
    return RequestMessage("m", inputs, requested_outputs, RequestFields(**fields))


def ref(name: str, array: np.ndarray) -> TensorRef:
    """Return a frozen tensor."""
    dtype = of_array(array.dtype)
    assert dtype is not None
    return freeze(name, array, dtype)


def floats(*shape: int) -> np.ndarray:
    """Return an array of the configured type."""
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("config", "arrays"),
    [
        (PLAIN, [("A", floats(4))]),
        (PLAIN, [("B", floats(0, 2)), ("A", floats(4))]),
        (BATCH, [("A", floats(3, 4)), ("B", floats(3, 5, 2))]),
    ],
)
def test_a_valid_request_passes(config, arrays):
    """It passes repeatedly."""
    validator = RequestValidator(normalise(parse_pbtxt(config), model_name="m"))

    validator.check(message(*arrays))
    validator.check(message(*arrays, requested_outputs=("Y",)))


NEEDS = (
    "[request id: 7] expected number of inputs between 1 and 2 but got {} inputs for "
    "model 'm'. Got input(s) [{}], but missing required input(s) {}]. Please provide "
    "all required input(s)."
)
SHAPE = (
    "[request id: 7] unexpected shape for input 'A' for model 'm'. Expected {}, got "
    "{}. "
)
BATCH_NOTE = (
    "NOTE: Setting a non-zero max_batch_size in the model config requires a batch "
    "dimension to be prepended to each input shape. If you want to specify the full "
    "shape including the batch dim in your input dims config, try setting "
    "max_batch_size to zero. See the model configuration docs for more info on "
    "max_batch_size."
)
RESHAPE = "Reshape the array, or change dims in the model's configuration."
SHAPES = "  expected {}\n  actual   {}\n{}"
NO_INPUTS = (
    "The model's configuration has no inputs at all: give --input and --output to "
    "%%triton_model, write them in %%triton_config, or add auto_complete_config."
)
CONVERT = (
    "Convert the array, for example with array.astype({}), or change the data type of "
    "input {!r} in the model's configuration."
)
TYPE = (
    "[request id: 7] inference input '{}' data-type is '{}', but model 'm' expects '{}'"
)
ALL_TYPES = """
input { name: "S" data_type: TYPE_STRING dims: [ 1 ] }
input { name: "H" data_type: TYPE_BF16 dims: [ 1 ] }
"""
REFUSED = {
    "an unknown output": (
        PLAIN,
        [("A", floats(4))],
        ("Z", "X"),
        "unexpected inference output 'X' for model 'm'",
        "Its outputs are: Y.",
    ),
    "an output like another": (
        PLAIN,
        [("A", floats(4))],
        ("YY",),
        "unexpected inference output 'YY' for model 'm'",
        "Did you mean 'Y'? Its outputs are: Y.",
    ),
    "a repeated output": (
        PLAIN,
        [("A", floats(4))],
        ("X", "Y", "Y"),
        "[request id: 7] Duplicate output name 'Y' is not allowed in a request",
        "",
    ),
    "a repeated input": (
        PLAIN,
        [("A", floats(4)), ("A", floats(4))],
        (),
        "[request id: 7] input 'A' already exists in request",
        "",
    ),
    "no input": (PLAIN, [], (), NEEDS.format(0, "", "['A'"), ""),
    "too many inputs": (
        PLAIN,
        [("A", floats(4)), ("B", floats(1, 2)), ("Q", floats(1))],
        (),
        NEEDS.format(3, "'Q','B','A'", ""),
        "Its inputs are: A, B.",
    ),
    "another number of required inputs": (
        ALL_TYPES,
        [("s", floats(1))],
        (),
        "[request id: 7] expected 2 inputs but got 1 inputs for model 'm'. Got "
        "input(s) ['s'], but missing required input(s) ['S','H']. Please provide all "
        "required input(s).",
        "'s' is not an input. Did you mean 'S'?",
    ),
    "an input of a model without inputs": (
        "",
        [("A", floats(4))],
        (),
        "[request id: 7] expected 0 inputs but got 1 inputs for model 'm'. Got "
        "input(s) ['A'], but missing required input(s) ]. Please provide all required "
        "input(s).",
        NO_INPUTS,
    ),
    "an unknown input": (
        PLAIN,
        [("Q", floats(4))],
        (),
        "unexpected inference input 'Q' for model 'm'",
        "Its inputs are: A, B.",
    ),
    "an unknown input of a batch": (
        BATCH,
        [("a", floats(4))],
        (),
        "unexpected inference input 'a' for model 'm'",
        "Did you mean 'A'? Its inputs are: A, B.",
    ),
    "an unknown input beside a wrong one": (
        PLAIN,
        [("A", np.zeros(4)), ("Q", floats(4))],
        (),
        "unexpected inference input 'Q' for model 'm'",
        "Its inputs are: A, B.",
    ),
    "an unknown input beside a wrong one, in another order": (
        PLAIN,
        [("Q", floats(4)), ("A", np.zeros(4))],
        (),
        "unexpected inference input 'Q' for model 'm'",
        "Its inputs are: A, B.",
    ),
    "an unknown input beside a wrong one of a batch": (
        BATCH,
        [("A", np.zeros((1, 4))), ("Q", floats(1))],
        (),
        "unexpected inference input 'Q' for model 'm'",
        "Its inputs are: A, B.",
    ),
    "an unknown input beside a wrong one of a batch, in another order": (
        BATCH,
        [("Q", floats(1)), ("A", np.zeros((1, 4)))],
        (),
        "unexpected inference input 'Q' for model 'm'",
        "Its inputs are: A, B.",
    ),
    "a batch of a model for one row": (
        BATCH.replace("batch_size: 4", "batch_size: 1"),
        [("A", floats(1, 1, 4))],
        (),
        SHAPE.format("[-1,4]", "[1,1,4]") + BATCH_NOTE,
        SHAPES.format("[batch=-1, 4]", "[batch=1, 1, 4]", RESHAPE),
    ),
    "no batch axis at all": (
        BATCH,
        [("A", floats())],
        (),
        "[request id: 7] input 'A' has no shape but model requires batch dimension for "
        "'m'",
        "",
    ),
    "different batches": (
        BATCH,
        [("B", floats(3, 1, 2)), ("A", floats(2, 4))],
        (),
        "[request id: 7] input 'B' batch size does not match other inputs for 'm'",
        "",
    ),
    "a large batch": (
        BATCH,
        [("A", floats(5, 4))],
        (),
        "[request id: 7] inference request batch-size must be <= 4 for 'm'",
        "The first axis is the batch: send 4 rows at most in a request, or raise "
        "max_batch_size.",
    ),
    "an empty batch": (
        BATCH,
        [("A", floats(0, 4))],
        (),
        "[request id: 7] input byte size mismatch for input 'A' for model 'm'. "
        "Expected 16, got 0",
        "",
    ),
    "an empty batch of nothing": (
        BATCH,
        [("A", floats(1, 4)), ("B", floats(0, 0, 2))],
        (),
        "[request id: 7] input 'B' for model 'm' has no rows; expected at least 1",
        "",
    ),
    "another type": (
        PLAIN,
        [("A", np.zeros(4))],
        (),
        TYPE.format("A", "FP64", "FP32"),
        CONVERT.format("np.float32", "A"),
    ),
    "numbers for strings": (
        ALL_TYPES.replace("TYPE_BF16", "TYPE_FP32"),
        [("S", floats(1)), ("H", floats(1))],
        (),
        TYPE.format("S", "FP32", "BYTES"),
        CONVERT.format("np.object_", "S"),
    ),
    "floats for short ones": (
        ALL_TYPES.replace("TYPE_STRING", "TYPE_FP32"),
        [("S", floats(1)), ("H", floats(1))],
        (),
        TYPE.format("H", "FP32", "BF16"),
        CONVERT.format("ml_dtypes.bfloat16", "H"),
    ),
    "one axis too many": (
        PLAIN,
        [("A", floats(1, 4))],
        (),
        SHAPE.format("[4]", "[1,4]"),
        SHAPES.format(
            "[4]",
            "[1, 4]",
            "There is one axis too many: index it away (array[0]), or give the model a "
            "max_batch_size.",
        ),
    ),
    "a column": (
        PLAIN,
        [("A", floats(4, 1))],
        (),
        SHAPE.format("[4]", "[4,1]"),
        SHAPES.format(
            "[4]",
            "[4, 1]",
            "There is one axis too many: index it away (array[..., 0]), or give the "
            "model a max_batch_size.",
        ),
    ),
    "another length": (
        PLAIN,
        [("A", floats(3))],
        (),
        SHAPE.format("[4]", "[3]"),
        SHAPES.format("[4]", "[3]", RESHAPE),
    ),
    "one axis too few": (
        PLAIN,
        [("A", floats())],
        (),
        SHAPE.format("[4]", "[]"),
        SHAPES.format("[4]", "[]", RESHAPE),
    ),
    "no batch axis": (
        BATCH,
        [("A", floats(4))],
        (),
        SHAPE.format("[-1,4]", "[4]") + BATCH_NOTE,
        SHAPES.format(
            "[batch=-1, 4]",
            "[4]",
            "The batch axis is missing: add it with array[np.newaxis].",
        ),
    ),
    "another length in a batch": (
        BATCH,
        [("A", floats(1, 3))],
        (),
        SHAPE.format("[-1,4]", "[1,3]") + BATCH_NOTE,
        SHAPES.format("[batch=-1, 4]", "[batch=1, 3]", RESHAPE),
    ),
    "one axis too many in a batch": (
        BATCH,
        [("A", floats(1, 1, 4))],
        (),
        SHAPE.format("[-1,4]", "[1,1,4]") + BATCH_NOTE,
        SHAPES.format("[batch=-1, 4]", "[batch=1, 1, 4]", RESHAPE),
    ),
}


@pytest.mark.parametrize(
    ("config", "arrays", "outputs", "text", "advice"), REFUSED.values(), ids=REFUSED
)
def test_a_wrong_request_is_refused_with_advice(config, arrays, outputs, text, advice):
    """The text is Triton's; the advice says how to fix the request."""
    error = refuses(config, *arrays, requested_outputs=outputs, request_id="7")

    assert (text, "INVALID_ARG", advice) == (error.message, error.code, error.advice)
    assert text == str(error)


def sent(config: str, shape: tuple[int, ...], data: bytes, type_name: str) -> str:
    """Return the error of a request of a network client; empty if it passes."""
    config = f'input {{ name: "A" data_type: TYPE_{type_name} {config}'
    validator = RequestValidator(normalise(parse_pbtxt(config), model_name="m"))
    dtype = BYTES if type_name == "STRING" else BY_DATATYPE[type_name]
    tensor = TensorRef("A", dtype, shape, data)
    fields = RequestFields(request_id="7")
    try:
        validator.check(RequestMessage("m", (tensor,), (), fields, raw=True))
    except RequestError as error:
        code = "" if error.code == "INVALID_ARG" else f"{error.code}: "
        return f"{code}{error.message}"
    return ""


SIZE = (
    "[request id: 7] input byte size mismatch for input 'A' for model 'm'. Expected "
    "{}, got {}"
)
FREE, BATCHED = "dims: [ -1 ] }", "dims: [ -1 ] } max_batch_size: 4"
TOO_LARGE = "[request id: 7] inference request batch-size must be <= 4 for 'm'"
UNSPECIFIED = (
    "[request id: 7] All input dimensions should be specified for input 'A' for model "
    "'m', got {}"
)


@pytest.mark.parametrize(
    ("config", "shape", "size", "text"),
    [
        (FREE, (2,), 8, ""),
        (FREE, (0,), 0, ""),
        (FREE, (2,), 7, SIZE.format(8, 7)),
        (FREE, (2,), 9, SIZE.format(8, 9)),
        (FREE, (2**62,), 0, SIZE.format(2**64, 0)),
        (FREE, (2**61,), 0, SIZE.format(-(2**63), 0)),
        (FREE, (2**61 - 1,), 0, SIZE.format(2**63 - 4, 0)),
        (FREE, (2**62 + 1,), 0, SIZE.format(4, 0)),
        (FREE, (-1,), 0, UNSPECIFIED.format("[-1]")),
        (BATCHED, (1, 2), 8, ""),
        (BATCHED, (4, 1), 16, ""),
        (BATCHED, (4, -1), 16, UNSPECIFIED.format("[4,-1]")),
        (BATCHED, (5, 1), 20, TOO_LARGE),
        (BATCHED, (2**31 - 1, 0), 0, TOO_LARGE),
        (
            BATCHED,
            (2**31, 0),
            0,
            "INTERNAL: batch size 2147483648 for 'm_0', max allowed is 4",
        ),
        (
            BATCHED,
            (-1, 0),
            0,
            "INTERNAL: batch size 4294967295 for 'm_0', max allowed is 4",
        ),
        (BATCHED, (2**32 + 1, 1), 4, TOO_LARGE),
        (BATCHED, (2**32 + 5, 1), 20, TOO_LARGE),
    ],
)
def test_the_bytes_of_a_client_fit_its_shape(config, shape, size, text):
    """Triton counts bytes with 64 bits, and batches with 32."""
    assert text == sent(config, shape, bytes(size), "FP32")


WHOSE = "inference input 'A' for model 'm'"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\1\0\0\0a\0\0\0\0", ""),
        (
            b"\1\0\0\0a\0\0\0\0\0\0\0\0",
            f"[request id: 7] unexpected number of string elements 3 for {WHOSE}, "
            "expecting 2",
        ),
        (
            b"\1\0\0\0a\0\0\0",
            f"[request id: 7] incomplete string length indicator for {WHOSE}, "
            "expecting 4 bytes but only 3 bytes available. Please make sure the string "
            "length indicator is in one buffer.",
        ),
        (
            b"\1\0\0\0a",
            f"[request id: 7] expected 2 string elements for {WHOSE}, got 1",
        ),
        (b"", f"[request id: 7] expected 2 string elements for {WHOSE}, got 0"),
        (
            b"\1\0\0\0a\4\1\0\0abc",
            "incomplete string data for inference input 'A', expecting string of "
            "length 260 but only 3 bytes available",
        ),
    ],
)
def test_the_strings_of_a_client_are_counted(data, text):
    """Each follows its length."""
    assert text == sent(FREE, (2,), data, "STRING")


def test_inputs_of_one_name_are_counted_by_all_and_known_by_the_first():
    """Triton accepts such a configuration."""
    config = PLAIN.replace('"B"', '"A"')
    error = refuses(config, ("A", floats(1, 2)))

    assert SHAPE.format("[4]", "[1,2]").replace("[request id: 7] ", "") in error.message


@pytest.mark.parametrize("known", ["é" * 64, "x" * 128, 2**64 - 1, ""])
def test_a_correlation_id_that_triton_keeps_passes(known):
    """Bytes count, and numbers have no length."""
    assert check_correlation_id(known) is None


@pytest.mark.parametrize("unknown", ["é" * 64 + "x", "x" * 129])
def test_a_longer_correlation_id_is_refused(unknown):
    """Triton keeps 128 bytes."""
    with pytest.raises(RequestError) as caught:
        check_correlation_id(unknown)

    text = "string correlation ID cannot be longer than 128 characters"
    assert (text, "UNSUPPORTED") == (caught.value.message, caught.value.code)


@pytest.mark.parametrize(
    ("shape", "expected", "does"),
    [
        ((), (), True),
        ((2, 3), (-1, 3), True),
        ((2, 3), (2, 3), True),
        ((2, 3), (3, 3), False),
        ((2, 3), (-1, 2), False),
        ((2,), (2, -1), False),
    ],
)
def test_minus_one_matches_any_length(shape, expected, does):
    """The number of axes is that of the configuration."""
    assert does is fits(shape, expected)


def test_an_invalid_request_after_a_valid_one_is_refused():
    """Only equal requests are not checked again."""
    validator = RequestValidator(normalise(parse_pbtxt(PLAIN), model_name="m"))
    b = ("B", np.zeros((1, 2), np.float32))
    too_short = TensorRef("A", BY_DATATYPE["FP32"], (4,), bytes(15))

    for wrong in (
        RequestMessage("m", (too_short,), raw=True),
        message(("A", floats(3))),
        message(("A", np.zeros(4))),
        message(("A", floats(4)), requested_outputs=("Q",)),
        message(),
    ):
        for right in (message(("A", floats(4))), message(("A", floats(4)), b)):
            validator.check(right)
            with pytest.raises(RequestError):
                validator.check(wrong)


def test_only_some_valid_signatures_are_remembered():
    """A client that sends ever new shapes does not fill the memory."""
    validator = RequestValidator(normalise(parse_pbtxt(PLAIN), model_name="m"))
    checked = []
    validator._check = checked.append
    for length in (*range(513), 512, 0, 512):
        validator.check(message(("A", floats(4)), ("B", floats(length, 2))))

    assert 514 == len(checked)
