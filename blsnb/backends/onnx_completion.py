"""Complete a configuration from an ONNX model's file."""

from __future__ import annotations

from typing import Any

from blsnb.backends.onnx_tensors import Tensors
from blsnb.errors import BackendError
from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import schema

DEFAULT_MAX_BATCH_SIZE = 4
"""Triton's default, without ``--backend-config=default-max-batch-size``."""


def is_complete(config: ModelConfig) -> bool:
    """Whether a configuration has inputs and outputs, and needs no completion."""
    message = config.message
    return bool((message.input or message.batch_input) and message.output)


def completed(config: ModelConfig, inputs: Tensors, outputs: Tensors) -> ModelConfig:
    """Return a configuration completed from the file's tensors.

    A model batches if the first dimension of all tensors is variable: up to
    ``max_batch_size``, by default 4, with dynamic batching unless another scheduler
    is configured. Tensors are in the order of the file; Triton's order is arbitrary.

    References
    ----------
    onnxruntime_backend: src/onnxruntime.cc, ModelState::AutoCompleteConfig,
    AutoCompleteMaxBatch, AutoCompleteIO; server:
    docs/user_guide/model_configuration.md, Default Max Batch Size and Dynamic Batcher
    """
    message = config.message
    _fill_batching(message, _can_batch(inputs) and _can_batch(outputs))
    if not message.input and not message.batch_input:
        _fill_tensors(message.input, inputs, message.max_batch_size)
    if not message.output:
        _fill_tensors(message.output, outputs, message.max_batch_size)
    return ModelConfig.of(message)


def _can_batch(tensors: Tensors) -> bool:
    return all(info.dims[:1] == (-1,) for info in tensors.values())


def _fill_batching(message: Any, can_batch: bool) -> None:
    if not can_batch:
        if message.max_batch_size:
            raise BackendError(
                f"autofill failed for model '{message.name}': model does not support "
                "batching while non-zero max_batch_size is specified",
                "INVALID_ARG",
                "The first dimension of every input and output must be variable.",
            )
        return
    message.max_batch_size = message.max_batch_size or DEFAULT_MAX_BATCH_SIZE
    scheduled = message.WhichOneof("scheduling_choice") is not None
    if message.max_batch_size > 1 and not scheduled:
        message.dynamic_batching.SetInParent()


def _fill_tensors(fields: Any, tensors: Tensors, max_batch_size: int) -> None:
    for name, info in tensors.items():
        dims = info.dims[1:] if max_batch_size else info.dims
        number = schema().DataType.Value(info.data_type)
        field = fields.add(name=name, data_type=number, dims=dims or (1,))
        if not dims and max_batch_size:
            # Its only dimension is the batch, and dims must not be empty.
            field.reshape.SetInParent()
