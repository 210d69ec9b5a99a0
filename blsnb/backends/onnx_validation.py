"""Checks of a configuration against an ONNX model's file, with Triton's texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from blsnb.backends.onnx_tensors import CONFIGURABLE, TensorInfo, Tensors
from blsnb.errors import BackendError
from blsnb.model.config import ModelConfig, TensorSpec
from blsnb.model.text.schema import data_type_name, schema
from blsnb.printable import shape_text
from blsnb.tensors.dtypes import Shape

_BOOLEAN = ("CONTROL_SEQUENCE_START", "CONTROL_SEQUENCE_END", "CONTROL_SEQUENCE_READY")
_TYPED = ("CONTROL_SEQUENCE_CORRID",)


def check_tensors(
    config: ModelConfig, inputs: Tensors, overridable: Tensors, outputs: Tensors
) -> None:
    """Check the configured tensors against those of the model.

    Parameters
    ----------
    overridable
        Initializers of the model that a request may override.

    Raises
    ------
    BackendError
        A tensor does not match.

    References
    ----------
    onnxruntime_backend: src/onnxruntime.cc, ModelInstanceState::ValidateInputs,
    ValidateOutputs, ValidateBooleanSequenceControl, ValidateTypedSequenceControl
    """
    _refuse_unsupported(config)
    controls = list(_controls(config))
    for name, data_type in controls:
        _check_control(config, name, data_type, inputs)
    expected = len(controls) + sum(not spec.optional for spec in config.inputs)
    if expected != len(inputs):
        _refuse(
            f"unable to load model '{config.name}', configuration expects {expected} "
            f"inputs, model provides {len(inputs)}"
        )
    for spec in config.inputs:
        _check_input(config, spec, inputs | overridable)
    for spec in config.outputs:
        info = _tensor_of(spec, outputs, "output")
        _check_type(config, spec, info, "output")
        _check_dims(config, spec, info, exactly=True)


def _refuse_unsupported(config: ModelConfig) -> None:
    message = config.message
    fields = {
        "allow_ragged_batch": any(spec.allow_ragged_batch for spec in config.inputs),
        "batch_input": message.batch_input,
        "batch_output": message.batch_output,
    }
    standin = (
        "The model loads on Triton, and a Triton server can stand in for it here: "
        f"%triton standin {config.name} --remote grpc://HOST:PORT"
    )
    if found := [name for name, value in fields.items() if value]:
        raise BackendError(
            "blsnb's onnxruntime does not support ragged batches",
            "UNSUPPORTED",
            f"The configuration uses {', '.join(found)}. {standin}; or remove it, and "
            "send requests of one shape.",
        )
    if message.sequence_batching.state:
        raise BackendError(
            "blsnb's onnxruntime does not support implicit state",
            "UNSUPPORTED",
            f"The configuration uses sequence_batching {{ state }}. {standin}; or pass "
            "the state as an input, and return it as an output.",
        )


def _controls(config: ModelConfig) -> Iterator[tuple[str, str]]:
    """Yield name and data type of each sequence control, in Triton's order."""
    kinds = schema().ModelSequenceBatching.Control.Kind
    for kind in (*_BOOLEAN, *_TYPED):
        for field in config.message.sequence_batching.control_input:
            for control in field.control:
                if kinds.Name(control.kind) == kind:
                    yield field.name, _control_type(control, kind)


def _control_type(control: Any, kind: str) -> str:
    if kind in _TYPED:
        return data_type_name(control.data_type)
    if control.int32_false_true:
        return "TYPE_INT32"
    return "TYPE_FP32" if control.fp32_false_true else "TYPE_BOOL"


def _check_control(
    config: ModelConfig, name: str, data_type: str, inputs: Tensors
) -> None:
    info = inputs.get(name)
    if info is None:
        raise BackendError(
            f"configuration specified sequence control '{name}', but model does not "
            "provide that input"
        )
    subject = f"unable to load model '{config.name}', sequence control '{name}'"
    dims = info.dims[1 if config.max_batch_size else 0 :]
    if dims != (1,):
        _refuse(
            f"{subject} in model has dims {shape_text(dims)} but dims [1] is expected"
        )
    if data_type != info.data_type:
        _refuse(
            f"{subject}, the model expects data-type {info.onnx_type} but the model "
            f"configuration specifies data-type {data_type}"
        )


def _check_input(config: ModelConfig, spec: TensorSpec, known: Tensors) -> None:
    if spec.optional and config.max_batch_size:
        _refuse(
            f"unable to load model '{config.name}', optional input '{spec.name}' is "
            "not supported for models that support batching"
        )
    info = _tensor_of(spec, known, "input")
    _check_type(config, spec, info, "input")
    _check_dims(config, spec, info, exactly=False)


def _tensor_of(spec: TensorSpec, known: Tensors, direction: str) -> TensorInfo:
    if spec.name not in known:
        _refuse(
            f"unexpected inference {direction} '{spec.name}', allowed {direction}s "
            f"are: {', '.join(sorted(known))}"
        )
    return known[spec.name]


def _check_type(
    config: ModelConfig, spec: TensorSpec, info: TensorInfo, direction: str
) -> None:
    if spec.data_type not in CONFIGURABLE:
        raise BackendError(
            f"unsupported datatype {spec.data_type} for {direction} '{spec.name}' for "
            f"model '{config.name}'"
        )
    if spec.data_type != info.data_type:
        # Triton's text calls an output "input", too.
        _refuse(
            f"unable to load model '{config.name}', configuration expects datatype "
            f"{spec.data_type} for input '{spec.name}', model provides "
            f"{info.triton_type}"
        )


def _check_dims(
    config: ModelConfig, spec: TensorSpec, info: TensorInfo, exactly: bool
) -> None:
    dims = inner_dims(spec)
    if info.dims:
        _compare(config, spec.name, info.dims, dims, exactly)
    elif any(dim != 1 for dim in dims):
        _refuse(
            f"unable to load model '{config.name}', scalar tensor '{spec.name}', "
            "should only provide 1 in the model configuration when the model doesn't "
            f"support batching. Model configuration provided: {shape_text(dims)}."
        )


def inner_dims(spec: TensorSpec) -> Shape:
    """Return the dims of a tensor in the model, without the batch."""
    return spec.dims if spec.reshape is None else spec.reshape


def _compare(
    config: ModelConfig, name: str, model: Shape, dims: Shape, exactly: bool
) -> None:
    """Check that dims match those of the model.

    References
    ----------
    onnxruntime_backend: src/onnxruntime_utils.cc, CompareDimsSupported
    """
    subject = f"model '{config.name}', tensor '{name}':"
    batching = config.max_batch_size > 0
    if batching and model[0] != -1:
        _refuse(
            f"{subject} for the model to support batching the shape should have at "
            "least 1 dimension and the first dimension must be -1; but shape expected "
            f"by the model is {shape_text(model)}"
        )
    whole = (-1, *dims) if batching else dims
    match = len(model) == len(whole) and all(
        mine == theirs or (mine == -1 and not exactly)
        for mine, theirs in zip(model, whole, strict=True)
    )
    if match:
        return
    shape = "(shape "
    if batching:
        shape = (
            "(an initial batch dimension because max_batch_size > 0 followed by the "
            "explicit tensor shape, making complete shape "
        )
    _refuse(
        f"{subject} the model expects {len(model)} dimensions (shape "
        f"{shape_text(model)}) but the model configuration "
        f"specifies {len(whole)} dimensions {shape}{shape_text(whole)})"
    )


def _refuse(text: str) -> NoReturn:
    raise BackendError(text, "INVALID_ARG")
