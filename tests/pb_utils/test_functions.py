"""Specification of the free functions, with Triton's oddities."""

import struct
from typing import Any

import numpy as np
import pytest

from blsnb.pb_utils import functions as pb_utils
from blsnb.pb_utils.request import InferenceRequest
from blsnb.pb_utils.response import InferenceResponse
from blsnb.pb_utils.tensor import Tensor


class Named:
    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name


class Carrier:
    """A request and a response, as far as these functions need."""

    def __init__(self, *tensors: Named) -> None:
        self._tensors = tensors

    def inputs(self) -> tuple[Named, ...]:
        return self._tensors

    output_tensors = inputs


CODES = [
    ("TYPE_BOOL", 1, np.bool_),
    ("TYPE_UINT8", 2, np.uint8),
    ("TYPE_UINT16", 3, np.uint16),
    ("TYPE_UINT32", 4, np.uint32),
    ("TYPE_UINT64", 5, np.uint64),
    ("TYPE_INT8", 6, np.int8),
    ("TYPE_INT16", 7, np.int16),
    ("TYPE_INT32", 8, np.int32),
    ("TYPE_INT64", 9, np.int64),
    ("TYPE_FP16", 10, np.float16),
    ("TYPE_FP32", 11, np.float32),
    ("TYPE_FP64", 12, np.float64),
    ("TYPE_STRING", 13, np.object_),
]


@pytest.mark.parametrize(
    "find", [pb_utils.get_input_tensor_by_name, pb_utils.get_output_tensor_by_name]
)
def test_tensors_are_found_by_name(find: Any) -> None:
    """The first one is returned, or None."""
    first, second = Named("X"), Named("X")

    assert first is find(Carrier(Named("A"), first, second), "X")
    assert find(Carrier(), "X") is None


def test_methods_of_a_models_subclass_are_called() -> None:
    """Although methods that it does not override are bypassed."""

    class Renamed(Tensor):
        def name(self) -> str:
            return "another"

    class Replaced(InferenceRequest):
        def inputs(self) -> list[Tensor]:
            return [renamed]

    class Response(InferenceResponse):
        def output_tensors(self) -> list[Tensor]:
            return [renamed]

    array = np.zeros(1, np.float32)
    renamed, plain = Renamed("X", array), Tensor("X", array)
    fields: Any = {"model_name": "m", "requested_output_names": []}
    ask = pb_utils.get_input_tensor_by_name

    assert plain is ask(InferenceRequest(inputs=[renamed, plain], **fields), "X")
    assert renamed is ask(Replaced(inputs=[plain], **fields), "another")

    ask = pb_utils.get_output_tensor_by_name
    assert plain is ask(InferenceResponse([renamed, plain]), "X")
    assert renamed is ask(Response([plain]), "another")


def test_configurations_are_found_by_name() -> None:
    """The dict itself, or None when name or key is missing."""
    row = {"name": "X"}

    assert row is pb_utils.get_input_config_by_name({"input": [row]}, "X")
    assert row is pb_utils.get_output_config_by_name({"output": [row]}, "X")
    assert pb_utils.get_input_config_by_name({"input": [row]}, "Y") is None
    assert pb_utils.get_output_config_by_name({}, "X") is None


def test_decoupled_is_read_from_the_policy() -> None:
    """Without the block it is False; an empty block raises KeyError."""
    ask = pb_utils.using_decoupled_model_transaction_policy

    assert ask({}) is False
    assert ask({"model_transaction_policy": {"decoupled": True}}) is True
    with pytest.raises(KeyError):
        ask({"model_transaction_policy": {}})


@pytest.mark.parametrize(("data_type", "code", "numpy_type"), CODES)
def test_types_are_translated(data_type: str, code: int, numpy_type: type) -> None:
    """Configuration, number and NumPy name the same type."""
    string_type = bool if data_type == "TYPE_BOOL" else numpy_type

    assert string_type is pb_utils.triton_string_to_numpy(data_type)
    assert numpy_type is pb_utils.triton_to_numpy_type(code)
    assert code == pb_utils.numpy_to_triton_type(numpy_type)
    assert code == pb_utils.numpy_to_triton_type(np.dtype(numpy_type))


@pytest.mark.parametrize("data_type", ["TYPE_BF16", "FP32", "BYTES", ""])
def test_an_unknown_type_name_is_a_key_error(data_type: str) -> None:
    """Only configuration names of types that NumPy has are known."""
    with pytest.raises(KeyError):
        pb_utils.triton_string_to_numpy(data_type)


@pytest.mark.parametrize("code", [0, 14, -1, "11", None])
def test_an_unknown_number_gives_none(code: Any) -> None:
    """BF16 has no NumPy type."""
    assert pb_utils.triton_to_numpy_type(code) is None


@pytest.mark.parametrize(
    "wanted", [bool, int, float, object, str, "float32", np.dtype("S4"), np.str_]
)
def test_similar_types_give_none(wanted: Any) -> None:
    """Python's types, strings and sized byte strings are not NumPy scalar types."""
    assert pb_utils.numpy_to_triton_type(wanted) is None


def test_byte_strings_are_bytes() -> None:
    """The unsized type of byte strings has the number of BYTES."""
    assert 13 == pb_utils.numpy_to_triton_type(np.bytes_)


def test_elements_are_serialised_in_c_order() -> None:
    """Bytes verbatim, everything else as the UTF-8 of its text."""
    array = np.array([["é", b"\xff"], [None, 1]], dtype=np.object_).T

    assert (
        b"\x02\0\0\0\xc3\xa9\x04\0\0\0None\x01\0\0\0\xff\x01\0\0\x001"
        == pb_utils.serialize_byte_tensor(array)
    )
    assert b"\x02\0\0\0ab" == pb_utils.serialize_byte_tensor(np.array([b"ab"]))


def test_values_that_cannot_be_serialised() -> None:
    """An empty array gives an empty tuple, another type None, a list an error."""
    assert () == pb_utils.serialize_byte_tensor(np.empty(0, np.object_))
    assert pb_utils.serialize_byte_tensor(np.ones(2)) is None
    with pytest.raises(AttributeError):
        pb_utils.serialize_byte_tensor(["a"])


def test_deserialised_elements_are_bytes_in_a_flat_array() -> None:
    """Any buffer is accepted."""
    buffer = pb_utils.serialize_byte_tensor(np.array(["a", ""], np.object_))
    array = pb_utils.deserialize_bytes_tensor(memoryview(buffer))

    assert ([b"a", b""], np.object_) == (array.tolist(), array.dtype)
    assert (0,) == pb_utils.deserialize_bytes_tensor(b"").shape


@pytest.mark.parametrize("buffer", [b"\x01\0", b"\x02\0\0\0a"])
def test_a_truncated_buffer_is_a_struct_error(buffer: bytes) -> None:
    """For a truncated length and a truncated element."""
    with pytest.raises(struct.error):
        pb_utils.deserialize_bytes_tensor(buffer)
