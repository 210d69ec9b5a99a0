"""Checks of inputs and outputs, with Triton's texts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import Any, NoReturn

from blsnb.errors import ModelConfigError
from blsnb.model.text.schema import schema

VARIABLE = -1


def check_tensors(message: Any) -> None:
    """Refuse incomplete or contradictory inputs, outputs and batch tensors.

    References
    ----------
    core: src/model_config_utils.cc, ValidateModelIOConfig
    """
    for direction, tensors in (("input", message.input), ("output", message.output)):
        for tensor in tensors:
            _check_tensor(tensor, direction, message)
    _check_batch_tensors(message)


def _check_tensor(tensor: Any, direction: str, message: Any) -> None:
    model, kind = message.name, f"model {direction}"
    if not tensor.name:
        _refuse(f"{kind} must specify 'name'", model)
    subject = f"{kind} '{tensor.name}'"
    if tensor.data_type == schema().TYPE_INVALID:
        _refuse(f"{subject} must specify 'data_type'", model)
    if not tensor.dims:
        _refuse(f"{subject} must specify 'dims'", model)
    reshaped = tensor.HasField("reshape")
    if reshaped and not tensor.reshape.shape and message.max_batch_size == 0:
        _refuse(
            f"{subject} cannot have empty reshape for non-batching model as scalar "
            "tensors are not supported",
            model,
        )
    _check_dimensions(f"{subject} dimension", tensor.dims, model)
    if reshaped:
        _check_reshape(subject, tensor.dims, tensor.reshape.shape, model)
    _check_format(tensor, direction, model)


def _check_dimensions(subject: str, dims: Sequence[int], model: str) -> None:
    if any(dim < 1 and dim != VARIABLE for dim in dims):
        _refuse(
            f"{subject} must be integer >= 1, or -1 to indicate a variable-size "
            "dimension",
            model,
        )


def _check_reshape(
    subject: str, dims: Sequence[int], shape: Sequence[int], model: str
) -> None:
    _check_dimensions(f"{subject} reshape dimensions", shape, model)
    fixed_dims, fixed_shape = _fixed_chunks(dims), _fixed_chunks(shape)
    both_vary = VARIABLE in dims and VARIABLE in shape
    if both_vary and len(fixed_dims) != len(fixed_shape):
        _refuse(
            f"{subject} has different number of variable-size dimensions for dims "
            "and reshape",
            model,
        )
    if fixed_dims != fixed_shape:
        _refuse(f"{subject} has different size for dims and reshape", model)


def _fixed_chunks(dims: Sequence[int]) -> list[int]:
    """Return the numbers of elements between the variable dimensions."""
    chunks: list[list[int]] = [[]]
    for dim in dims:
        if dim == VARIABLE:
            chunks.append([])
        else:
            chunks[-1].append(dim)
    return [prod(chunk) for chunk in chunks]


def _check_format(tensor: Any, direction: str, model: str) -> None:
    formats = schema().ModelInput
    image = (formats.FORMAT_NHWC, formats.FORMAT_NCHW)
    if direction == "input" and tensor.format in image and len(tensor.dims) != 3:
        _refuse("model input NHWC/NCHW require 3 dims", model)
    if tensor.is_shape_tensor:
        _refuse("shape tensors are only supported for TensorRT platform", model)
    if tensor.is_non_linear_format_io:
        _refuse(
            "Non-linear IO format is only supported for the TensorRT platform", model
        )


def check_batch_input_types(message: Any) -> None:
    """Refuse batch inputs without a type, as the Python backend does.

    Unless the configuration is strict, this precedes all checks of tensors in the
    core. The backend's text does not name the model.
    """
    if any(row.data_type == schema().TYPE_INVALID for row in message.batch_input):
        raise ModelConfigError(
            "unexpected batch input data type 'TYPE_INVALID'", stage="create"
        )


def _check_batch_tensors(message: Any) -> None:
    model = message.name
    inputs = {tensor.name for tensor in message.input}
    outputs = {tensor.name for tensor in message.output}
    types = schema()
    for tensor in message.batch_input:
        _check_source_count("input", types.BatchInput.Kind, tensor, model)
        if tensor.data_type not in (types.TYPE_INT32, types.TYPE_FP32):
            _refuse("batch input data type must be TYPE_INT32 or TYPE_FP32", model)
        _check_known("source input", tensor.source_input, inputs, model)
    for tensor in message.batch_output:
        _check_source_count("output", types.BatchOutput.Kind, tensor, model)
        _check_known("source input", tensor.source_input, inputs, model)
        _check_known("target output", tensor.target_name, outputs, model)
        _check_distinct(tensor.target_name, model)


def _check_source_count(direction: str, kinds: Any, tensor: Any, model: str) -> None:
    row = kinds.DESCRIPTOR.values_by_number.get(tensor.kind)
    if row is None:
        _refuse(f"unknown batch {direction} kind ''", model)
    count = len(tensor.source_input)
    if count != 1:
        _refuse(
            f"batch {direction} kind '{row.name}' expects 1 source input, got {count}",
            model,
        )


def _check_known(
    role: str, names: Sequence[str], known: Collection[str], model: str
) -> None:
    for name in names:
        if name not in known:
            _refuse(f"unknown {role} name '{name}'", model)


def _check_distinct(names: Sequence[str], model: str) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            _refuse(f"target output name '{name}' can only be specified once", model)


def _refuse(reason: str, model: str) -> NoReturn:
    raise ModelConfigError(f"{reason} for {model}", stage="create")
