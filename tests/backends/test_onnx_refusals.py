"""Refused ONNX models, with the texts of Triton's backend."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from blsnb.backends.onnx_tensors import CONFIGURABLE, tensors_of
from blsnb.errors import BackendError, ModelLoadError
from blsnb.parts.server_parts import parts_of

from . import onnx_models as onnx
from .test_onnxruntime import CONTROL, IO, START, controlled, load


def refusal(server, data, config=None):
    """Return the reason why a model does not load."""
    with pytest.raises(ModelLoadError) as caught:
        load(server, data, config)
    prefix = "load failed for model 'leaf': version 1 is at UNAVAILABLE state: "
    assert caught.value.message.startswith(prefix)
    return caught.value.message.removeprefix(prefix).removesuffix(";\n")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            b"garbage",
            "Internal: onnx runtime error 7: Load model from {path} failed:"
            "Protobuf parsing failed.",
        ),
        (
            onnx.model(
                [onnx.node("Nope", ["X"], ["Y"])],
                [onnx.tensor("X", onnx.FLOAT, ("b",))],
                [onnx.tensor("Y", onnx.FLOAT, ("b",))],
            ),
            "Internal: onnx runtime error 10: Load model from {path} failed:"
            "This is an invalid model.",
        ),
        (
            onnx.model(
                [onnx.node("SequenceConstruct", ["X"], ["Y"])],
                [onnx.tensor("X", onnx.FLOAT, ("b",))],
                [onnx.sequence("Y")],
            ),
            "Unsupported: Unsupported ONNX Type 'ONNX_TYPE_SEQUENCE' for I/O 'Y', "
            "expected 'ONNX_TYPE_TENSOR'.",
        ),
    ],
)
def test_an_invalid_file_is_refused(server, data, reason):
    """The load fails with the backend's text."""
    path = parts_of(server).repository.private("leaf").version_dir(1) / "model.onnx"

    assert refusal(server, data).startswith(reason.format(path=path))


def test_a_missing_file_is_refused(server):
    """Triton's text is that of the check for a folder."""
    parts_of(server).models.change(
        "leaf", {"1/other": "x", "config.pbtxt": "backend: 'onnxruntime'"}
    )
    path = parts_of(server).repository.private("leaf").version_dir(1)
    with pytest.raises(ModelLoadError) as caught:
        server.load("leaf")
    assert f"Internal: failed to stat file {path}/model.onnx;" in caught.value.message
    (path / "model.onnx").mkdir()
    with pytest.raises(ModelLoadError) as caught:
        server.load("leaf")
    assert (
        f"Unavailable: unable to find '{path}/model.onnx/model.onnx' for model "
        "instance 'leaf';" in caught.value.message
    )


UNABLE = "Invalid argument: unable to load model 'leaf', "


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (
            "max_batch_size: 4",
            "Invalid argument: autofill failed for model 'leaf': model does not "
            "support batching while non-zero max_batch_size is specified",
        ),
        (
            IO,
            "Invalid argument: model 'leaf', tensor 'X': the model expects 2 "
            "dimensions (shape [3,2]) but the model configuration specifies 1 "
            "dimensions (shape [2])",
        ),
        (
            f"max_batch_size: 4 {IO}",
            "Invalid argument: model 'leaf', tensor 'X': for the model to support "
            "batching the shape should have at least 1 dimension and the first "
            "dimension must be -1; but shape expected by the model is [3,2]",
        ),
        (
            IO.replace("2", "[3, 2]")
            .replace("'X'", "'Z'")
            .replace("FP3[3, 2]", "FP32"),
            "Invalid argument: unexpected inference input 'Z', allowed inputs are: X",
        ),
        (
            "input { name: 'X' data_type: TYPE_INT8 dims: [3, 2] }",
            f"{UNABLE}configuration expects datatype TYPE_INT8 for input 'X', model "
            "provides TYPE_FP32",
        ),
        (
            "input { name: 'X' data_type: TYPE_BF16 dims: [3, 2] }",
            "Internal: unsupported datatype TYPE_BF16 for input 'X' for model 'leaf'",
        ),
        (
            "output { name: 'Y' data_type: TYPE_STRING dims: [3, 2] }",
            f"{UNABLE}configuration expects datatype TYPE_STRING for input 'Y', model "
            "provides TYPE_FP32",
        ),
        (
            "output { name: 'Y' data_type: TYPE_FP32 dims: [3, -1] }",
            "Invalid argument: model 'leaf', tensor 'Y': the model expects 2 "
            "dimensions (shape [3,2]) but the model configuration specifies 2 "
            "dimensions (shape [3,-1])",
        ),
        (
            "output { name: 'Q' data_type: TYPE_FP32 dims: [3, 2] }",
            "Invalid argument: unexpected inference output 'Q', allowed outputs are: Y",
        ),
        (
            "input [{ name: 'X' data_type: TYPE_FP32 dims: [3, 2] }, "
            "{ name: 'Z' data_type: TYPE_FP32 dims: 1 }]",
            f"{UNABLE}configuration expects 2 inputs, model provides 1",
        ),
        (
            "instance_group { kind: KIND_GPU }",
            "Invalid argument: instance group leaf_0 of model leaf has kind KIND_GPU "
            "but no GPUs are available",
        ),
        (
            "parameters { key: 'execution_mode' value { string_value: '2' } }",
            "Invalid argument: Invalid configuration value provided. Expected values "
            "for  execution_mode are 0 or 1 but got 2 .",
        ),
        (
            "parameters { key: 'intra_op_thread_count' value { string_value: 'x' } }",
            "Invalid argument: failed to convert 'x' to integral number",
        ),
        (
            "parameters { key: 'enable_mem_arena' value { string_value: 'maybe' } }",
            "Invalid argument: failed to convert 'maybe' to boolean",
        ),
        (
            "optimization { execution_accelerators { cpu_execution_accelerator { name: "
            "'openvino' } } }",
            "Invalid argument: unknown Execution Accelerator 'openvino' is requested",
        ),
        (
            "input { name: 'X' data_type: TYPE_FP32 dims: [3, 2] allow_ragged_batch: "
            "true }",
            "Unsupported: blsnb's onnxruntime does not support ragged batches",
        ),
    ],
)
def test_a_configuration_that_contradicts_the_model_is_refused(server, config, reason):
    """The text is that of Triton's backend."""
    assert reason == refusal(server, onnx.identity(dims=(3, 2)), config)


def test_the_advice_on_a_model_that_cannot_batch_names_its_dimensions(server):
    """Triton's text only says that it does not."""
    with pytest.raises(ModelLoadError) as caught:
        load(server, onnx.identity(dims=(3, 2)), "max_batch_size: 4")

    advice = "The first dimension of every input and output must be variable."
    assert advice == caught.value.advice


def test_a_scalar_must_have_dims_of_one(server):
    """The text is that of Triton's backend."""
    reason = refusal(
        server,
        onnx.identity(dims=()),
        "input { name: 'X' data_type: TYPE_FP32 dims: [1, 2] }",
    )

    assert (
        f"{UNABLE}scalar tensor 'X', should only provide 1 in the model configuration "
        "when the model doesn't support batching. Model configuration provided: [1,2]."
    ) == reason


def test_an_optional_input_must_not_be_batched(server):
    """The text is that of Triton's backend."""
    data = onnx.model(
        [onnx.node("Add", ["X", "BIAS"], ["Y"])],
        [onnx.tensor("X", onnx.FLOAT, ("b", 2)), onnx.tensor("BIAS", onnx.FLOAT, (2,))],
        [onnx.tensor("Y", onnx.FLOAT, ("b", 2))],
        [onnx.initializer("BIAS", [10, 20])],
    )
    bias = "input { name: 'BIAS' data_type: TYPE_FP32 dims: 2 optional: true }"

    assert (
        f"{UNABLE}optional input 'BIAS' is not supported for models that support "
        "batching"
    ) == refusal(server, data, f"max_batch_size: 4 {IO} {bias}")


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("seq(tensor(float))", "SEQUENCE"),
        ("map(int64,tensor(float))", "MAP"),
        ("optional(tensor(float))", "UNKNOWN"),
        ("sparse_tensor(float)", "SPARSETENSOR"),
    ],
)
def test_only_tensors_are_inputs_and_outputs(written, kind):
    """The text names ONNX Runtime's type."""
    with pytest.raises(BackendError) as caught:
        tensors_of([SimpleNamespace(name="X", type=written, shape=[])])
    assert (
        "UNSUPPORTED",
        f"Unsupported ONNX Type 'ONNX_TYPE_{kind}' for I/O 'X', expected "
        "'ONNX_TYPE_TENSOR'.",
    ) == (caught.value.code, str(caught.value))


@pytest.mark.parametrize(
    ("written", "data_type", "onnx_type", "triton_type"),
    [
        *[
            (f"{kind}{bits}", f"TYPE_{kind.upper()}{bits}", f"{kind.upper()}{bits}", "")
            for kind in ("int", "uint")
            for bits in (8, 16, 32, 64)
        ],
        ("float16", "TYPE_FP16", "FLOAT16", ""),
        ("float", "TYPE_FP32", "FLOAT", ""),
        ("double", "TYPE_FP64", "DOUBLE", ""),
        ("bool", "TYPE_BOOL", "BOOL", ""),
        ("string", "TYPE_STRING", "STRING", "TYPE_BYTES"),
        ("complex64", "TYPE_INVALID", "COMPLEX64", "TYPE_<invalid>"),
        ("complex128", "TYPE_INVALID", "COMPLEX64", "TYPE_<invalid>"),
        ("bfloat16", "TYPE_INVALID", "BFLOAT16", "TYPE_<invalid>"),
        ("float8e5m2", "TYPE_INVALID", "UNDEFINED", "TYPE_<invalid>"),
    ],
)
def test_a_type_has_three_names(written, data_type, onnx_type, triton_type):
    """In configurations, of ONNX, and in the texts of Triton's backend."""
    tensor = SimpleNamespace(name="X", type=f"tensor({written})", shape=["b", None, 3])
    info = tensors_of([tensor])["X"]

    assert (data_type, onnx_type, (-1, -1, 3)) == (
        info.data_type,
        info.onnx_type,
        info.dims,
    )
    assert (triton_type or data_type) == info.triton_type
    assert (data_type in CONFIGURABLE) is (data_type != "TYPE_INVALID")


def test_only_inputs_may_fix_a_variable_dimension(server):
    """The dims of an output must be those of the model."""
    data = onnx.identity(dims=("b", "c"))
    status = load(server, data, "input { name: 'X' data_type: TYPE_FP32 dims: 2 }")
    server.unload("leaf")
    config = "output { name: 'Y' data_type: TYPE_FP32 dims: 2 }"

    assert ("X:FP32[2]",) == status.inputs
    assert (
        "Invalid argument: model 'leaf', tensor 'Y': the model expects 2 dimensions "
        "(shape [-1,-1]) but the model configuration specifies 2 dimensions (an "
        "initial batch dimension because max_batch_size > 0 followed by the explicit "
        "tensor shape, making complete shape [-1,2])" == refusal(server, data, config)
    )


@pytest.mark.parametrize(
    ("name", "how", "reason"),
    [
        (
            "NOPE",
            START,
            "Internal: configuration specified sequence control 'NOPE', but model does "
            "not provide that input",
        ),
        (
            "X",
            START,
            f"{UNABLE}sequence control 'X' in model has dims [2] but dims [1] is "
            "expected",
        ),
        (
            "S",
            {"kind": "CONTROL_SEQUENCE_CORRID", "how": "data_type: TYPE_UINT64"},
            f"{UNABLE}sequence control 'S', the model expects data-type FLOAT but the "
            "model configuration specifies data-type TYPE_UINT64",
        ),
        (
            "S",
            {"kind": "CONTROL_SEQUENCE_START", "how": "int32_false_true: [0, 1]"},
            f"{UNABLE}sequence control 'S', the model expects data-type FLOAT but the "
            "model configuration specifies data-type TYPE_INT32",
        ),
        (
            "S",
            {"kind": "CONTROL_SEQUENCE_START", "how": "bool_false_true: [false, true]"},
            f"{UNABLE}sequence control 'S', the model expects data-type FLOAT but the "
            "model configuration specifies data-type TYPE_BOOL",
        ),
    ],
)
def test_sequence_controls_must_be_inputs_of_the_model(server, name, how, reason):
    """They have one element of the configured type."""
    config = CONTROL.format(name=name, **how) + IO

    assert reason == refusal(server, controlled(), config)


RAGGED = (
    "input { name: 'X' data_type: TYPE_FP32 dims: [3, 2] allow_ragged_batch: true }"
)
COUNTED = (
    f"{RAGGED} batch_input {{ kind: BATCH_ELEMENT_COUNT target_name: 'N' "
    "data_type: TYPE_FP32 source_input: 'X' }"
)
ONE_SHAPE = "remove it, and send requests of one shape."
STATE = (
    "sequence_batching { state { input_name: 'S' output_name: 'T' "
    "data_type: TYPE_FP32 dims: 1 } }"
)


@pytest.mark.parametrize(
    ("config", "reason", "fields", "otherwise"),
    [
        (RAGGED, "ragged batches", "allow_ragged_batch", ONE_SHAPE),
        (COUNTED, "ragged batches", "allow_ragged_batch, batch_input", ONE_SHAPE),
        (
            STATE,
            "implicit state",
            "sequence_batching { state }",
            "pass the state as an input, and return it as an output.",
        ),
    ],
)
def test_unsupported_fields_are_refused(server, config, reason, fields, otherwise):
    """The advice names the fields, and a stand-in."""
    with pytest.raises(ModelLoadError) as caught:
        load(server, onnx.identity(dims=(3, 2)), config)

    text = f"Unsupported: blsnb's onnxruntime does not support {reason};"
    assert text in caught.value.message
    assert (
        f"The configuration uses {fields}. The model loads on Triton, and a Triton "
        "server can stand in for it here: %triton standin leaf --remote "
        f"grpc://HOST:PORT; or {otherwise}"
    ) == caught.value.advice.splitlines()[0]
