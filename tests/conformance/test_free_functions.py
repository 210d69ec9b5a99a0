"""The pure-Python part of the module: functions that a model may call anywhere."""

import pytest

from .asking import run
from .covering import rows

FUNCTIONS = {
    "get_input_tensor_by_name": """
        see(pb_utils.get_input_tensor_by_name(request, "CODE") is request.inputs()[0])
        see(pb_utils.get_input_tensor_by_name(request, "NOPE"))
        trial(lambda: pb_utils.get_input_tensor_by_name(None, "A"))
        """,
    "get_output_tensor_by_name": """
        twice = [pb_utils.Tensor("A", np.array([n])) for n in (1, 2)]
        response = pb_utils.InferenceResponse(twice)
        see(pb_utils.get_output_tensor_by_name(response, "A"))
        see(pb_utils.get_output_tensor_by_name(response, "NOPE"))
        """,
    "config by name": """
        config = json.loads(args["model_config"])
        see(pb_utils.get_input_config_by_name(config, "CODE"))
        see(pb_utils.get_input_config_by_name(config, "NOPE"))
        see(pb_utils.get_output_config_by_name(config, "OUT"))
        see(pb_utils.get_output_config_by_name(config, "CODE"))
        see(pb_utils.get_output_config_by_name({}, "OUT"))
        trial(lambda: pb_utils.get_input_config_by_name(args["model_config"], "CODE"))
        """,
    "using_decoupled_model_transaction_policy": """
        ask = pb_utils.using_decoupled_model_transaction_policy
        see(ask({}), ask({"model_transaction_policy": {"decoupled": True}}))
        trial(lambda: ask({"model_transaction_policy": {}}))
        """,
    "triton_string_to_numpy": """
        convert = pb_utils.triton_string_to_numpy
        see(convert("TYPE_BOOL") is bool, convert("TYPE_FP32") is np.float32)
        see(convert("TYPE_STRING") is np.object_)
        for name in ["TYPE_BF16", "FP32", "BYTES", "", None]:
            trial(lambda: convert(name))
        """,
    "triton_to_numpy_type": """
        kinds = [pb_utils.triton_to_numpy_type(code) for code in range(-1, 17)]
        see([kind and np.dtype(kind).name for kind in kinds])
        see(kinds[2] is np.bool_, kinds[14] is np.object_)
        see(pb_utils.triton_to_numpy_type("FP32"), pb_utils.triton_to_numpy_type(None))
        """,
    "numpy_to_triton_type": """
        kinds = [np.bool_, np.int8, np.uint64, np.float16, np.float32, np.object_,
                 np.bytes_, np.dtype("float32"), np.dtype("O"), np.dtype("S4"),
                 np.dtype(bool), bool, int, float, object, str, bytes, "float32",
                 None, np.complex64]
        see([pb_utils.numpy_to_triton_type(kind) for kind in kinds])
        """,
    "serialize_byte_tensor": """
        for array in [np.array(["a", b"bc", 3, None], dtype=object),
                      np.array([b"ab", b"c"]), np.zeros((0, 2), dtype=object),
                      np.array(["text"]), np.zeros(2),
                      np.array([["a", "b"], ["c", "d"]], dtype=object).T,
                      np.array("one", dtype=object), ["a"], None]:
            trial(lambda: pb_utils.serialize_byte_tensor(array))
        """,
    "deserialize_bytes_tensor": """
        one, two = b"\\1\\0\\0\\0a", b"\\0\\0\\0\\0"
        for buffer in [b"", one + two, one[:3], one[:4], one + two[:2], "text", None]:
            trial(lambda: pb_utils.deserialize_bytes_tensor(buffer))
        """,
    "is_model_ready": """
        trial(lambda: pb_utils.is_model_ready("repl"))
        trial(lambda: pb_utils.is_model_ready("repl", "1"))
        trial(lambda: pb_utils.is_model_ready("repl", "2"))
        for number in (2**63 - 1, 2**63, -(2**63), -(2**63) - 1):
            trial(lambda: pb_utils.is_model_ready("nope", str(number)))
        trial(lambda: pb_utils.is_model_ready("nope", "9" * 5000))
        trial(lambda: pb_utils.is_model_ready("nope"))
        """,
}


@rows(
    {
        "get_input_tensor_by_name": "13/get_input_tensor_by_name-request-name",
        "get_output_tensor_by_name": "13/get_output_tensor_by_name-response-name",
        "config by name": (
            "13/get_input_config_by_name-config-name-get_output_config_by_name"
        ),
        "using_decoupled_model_transaction_policy": (
            "13/using_decoupled_model_transaction_policy-config"
        ),
        "triton_string_to_numpy": "13/triton_string_to_numpy-type_fp32",
        "triton_to_numpy_type": "13/triton_to_numpy_type-code",
        "numpy_to_triton_type": "13/numpy_to_triton_type-t",
        "serialize_byte_tensor": "13/serialize_byte_tensor-a",
        "deserialize_bytes_tensor": "13/deserialize_bytes_tensor-buf",
        "is_model_ready": "12/is_model_ready-model_name-model_version",
    }
)
@pytest.mark.parametrize("code", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_free_function(agree, code):
    """Each function returns, or raises, the same as Triton's."""
    agree(lambda target: run(target, code))


NEW = {"name": "N", "data_type": "TYPE_FP32", "dims": [1]}
X = {"name": "X", "data_type": "TYPE_FP32", "dims": [2]}
Y = {"name": "Y", "data_type": "TYPE_FP32", "dims": [2]}

SETTERS = {
    "max_batch_size": ("set_max_batch_size", 8),
    "smaller max_batch_size": ("set_max_batch_size", 2),
    "dynamic_batching": ("set_dynamic_batching",),
    "transaction policy": ("set_model_transaction_policy", {"decoupled": True}),
    "empty policy": ("set_model_transaction_policy", {}),
    "policy, other key": ("set_model_transaction_policy", {"decoupled": 1, "x": 2}),
    "input": ("add_input", NEW),
    "input without name": ("add_input", {"data_type": "TYPE_FP32", "dims": [1]}),
    "input without data_type": ("add_input", {"name": "N", "dims": [1]}),
    "input without dims": ("add_input", {"name": "N", "data_type": "TYPE_FP32"}),
    "input with a key more": ("add_input", NEW | {"x": 1}),
    "input with only a key more": ("add_input", {"x": 1}),
    "the same input": ("add_input", X),
    "input, other type": ("add_input", X | {"data_type": "TYPE_INT8"}),
    "input, other dims": ("add_input", X | {"dims": [3]}),
    "input, optional now": ("add_input", X | {"optional": True}),
    "output": ("add_output", NEW),
    "output without dims": ("add_output", {"name": "N", "data_type": "TYPE_FP32"}),
    "optional output": ("add_output", NEW | {"optional": True}),
    "output, other dims": ("add_output", Y | {"dims": [3]}),
}


@rows(
    {
        "max_batch_size": "14/set_max_batch_size-n",
        "smaller max_batch_size": "14/set_max_batch_size-n",
        "dynamic_batching": "14/set_dynamic_batching",
        "input": "14/add_input-d",
        "input with a key more": "14/add_input-d",
        "the same input": "14/same-input-again",
        "input, other type": "14/same-input-again",
        "input, optional now": "14/same-input-again",
        "output": "14/add_output-d",
        "optional output": "14/add_output-d",
        "transaction policy": "14/set_model_transaction_policy-d",
        "policy, other key": "14/set_model_transaction_policy-d",
    }
)
@pytest.mark.parametrize("action", SETTERS.values(), ids=SETTERS)
def test_model_config_setters(agree, action):
    """A setter changes the configuration, or raises with the reason."""
    setter, *arguments = action
    given = {"name": "m", "max_batch_size": 4, "input": [X | {"optional": False}]}
    code = f"""
    c = pb_utils.ModelConfig(json.dumps({given | {"output": [Y]}}))
    trial(lambda: c.{setter}(*{arguments}))
    see(c.as_dict())
    """
    agree(lambda target: run(target, code))
