"""What is refused before a model sees it, and what its author should do."""

from __future__ import annotations

import numpy as np
import pytest

from blsnb.engine.request.validation import RequestError, RequestValidator
from blsnb.model.config import parse_pbtxt
from blsnb.model.normalization import normalise
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import RequestFields
from blsnb.tensors.dtypes import of_array
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


def test_a_wrong_shape_is_shown_beside_the_right_one():
    """The advice has the probable fix."""
    error = refuses(PLAIN, ("A", floats(1, 4)))

    assert "Expected [4], got [1,4]. " in error.message
    assert "expected [4]" in error.advice
    assert "actual   [1, 4]" in error.advice
    assert "one axis too many" in error.advice


def test_the_batch_axis_is_marked():
    """A missing batch axis is reported as such."""
    error = refuses(BATCH, ("A", floats(4)))

    assert "NOTE: Setting a non-zero max_batch_size" in error.message
    assert "expected [batch=-1, 4]" in error.advice
    assert "np.newaxis" in error.advice


def test_a_wrong_type_has_advice():
    """The advice is a line to paste."""
    error = refuses(PLAIN, ("A", np.zeros(4)))

    assert "data-type is 'FP64', but model 'm' expects 'FP32'" in error.message
    assert "array.astype(np.float32)" in error.advice


def test_an_unknown_input_names_those_that_are_known():
    """They are in the configured order."""
    error = refuses(PLAIN, ("Q", floats(4)))

    assert "unexpected inference input 'Q' for model 'm'" == error.message
    assert "A, B" in error.advice


def test_the_request_is_named_by_its_id():
    """Triton's log and responses do the same."""
    error = refuses(PLAIN, ("A", floats(3)), request_id="mine")

    assert error.message.startswith("[request id: mine] ")


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ([("A", floats(5, 4))], "inference request batch-size must be <= 4 for 'm'"),
        (
            [("A", floats(2, 4)), ("B", floats(3, 1, 2))],
            "batch size does not match other inputs for 'm'",
        ),
        ([("A", floats(0, 4))], "input byte size mismatch for input 'A'"),
    ],
)
def test_batches_are_checked(arrays, text):
    """Sizes must be valid and equal for all inputs."""
    assert text in refuses(BATCH, *arrays).message


def test_an_invalid_request_after_a_valid_one_is_refused():
    """Only equal requests are not checked again."""
    validator = RequestValidator(normalise(parse_pbtxt(PLAIN), model_name="m"))
    b = ("B", np.zeros((1, 2), np.float32))

    for wrong in (
        message(("A", floats(3))),
        message(("A", np.zeros(4))),
        message(("A", floats(4)), requested_outputs=("Q",)),
        message(),
    ):
        for right in (message(("A", floats(4))), message(("A", floats(4)), b)):
            validator.check(right)
            with pytest.raises(RequestError):
                validator.check(wrong)
