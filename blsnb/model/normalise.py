"""What Triton writes into a configuration before it is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.schema import schema

MODEL_FILENAME = "model.py"
SEQUENCE_IDLE_US = 1_000_000

# A platform names its backend and entry file; only TensorFlow's file name is
# filled in even where another backend is configured.
_PLATFORM_BACKENDS = {
    "tensorflow_graphdef": "tensorflow",
    "tensorflow_savedmodel": "tensorflow",
    "tensorrt_plan": "tensorrt",
    "onnxruntime_onnx": "onnxruntime",
    "pytorch_libtorch": "pytorch",
}
_TENSORFLOW_FILENAMES = {
    "tensorflow_graphdef": "model.graphdef",
    "tensorflow_savedmodel": "model.savedmodel",
}


def normalise(
    config: ModelConfig,
    *,
    model_name: str,
    has_model_py: bool = True,
    gpu_count: int = 0,
) -> ModelConfig:
    """Return the configuration with Triton's defaults written out.

    Parameters
    ----------
    model_name
        The name of the model's folder.
    has_model_py
        Whether a version has a ``model.py``, from which the backend is deduced.
    gpu_count
        How many GPUs can be used.

    Raises
    ------
    ModelConfigError
        At stage ``poll``: no backend can be deduced, or the names differ.

    References
    ----------
    core: src/model_config_utils.cc, AutoCompleteBackendFields,
    NormalizeModelConfig, NormalizeInstanceGroup
    """
    message = config.message
    message.name = message.name or model_name
    _fill_backend(message, model_name, has_model_py)
    fill_scheduling(message)
    if not message.HasField("ensemble_scheduling"):
        _fill_instance_groups(message, range(gpu_count))
    if message.name != model_name:
        raise ModelConfigError(
            f"unexpected directory name '{model_name}' for model '{message.name}', "
            "directory name must equal model name",
            advice=f'Write name: "{model_name}", or leave name out.',
        )
    return ModelConfig.of(message)


def fill_scheduling(message: Any) -> None:
    """Write the defaults of versions, batching and pinned memory."""
    if not message.HasField("version_policy"):
        message.version_policy.latest.num_versions = 1
    if message.HasField("dynamic_batching"):
        _prefer_full_batch(message.dynamic_batching, message.max_batch_size)
    if message.HasField("sequence_batching"):
        batcher = message.sequence_batching
        batcher.max_sequence_idle_microseconds = (
            batcher.max_sequence_idle_microseconds or SEQUENCE_IDLE_US
        )
        if batcher.HasField("oldest"):
            _prefer_full_batch(batcher.oldest, message.max_batch_size)
    if not message.HasField("ensemble_scheduling"):
        for name in ("input_pinned_memory", "output_pinned_memory"):
            if not message.optimization.HasField(name):
                getattr(message.optimization, name).enable = True


def _prefer_full_batch(batcher: Any, max_batch_size: int) -> None:
    if not batcher.preferred_batch_size and max_batch_size > 0:
        batcher.preferred_batch_size.append(max_batch_size)


def _fill_backend(message: Any, model_name: str, has_model_py: bool) -> None:
    platform_backend = _PLATFORM_BACKENDS.get(message.platform)
    if platform_backend is not None:
        message.backend = message.backend or platform_backend
        message.default_model_filename = (
            message.default_model_filename
            or _TENSORFLOW_FILENAMES.get(message.platform, "")
        )
    unsaid = not message.platform and not message.default_model_filename
    if not message.backend and (
        message.default_model_filename == MODEL_FILENAME or (unsaid and has_model_py)
    ):
        message.backend = "python"
    if message.backend == "python":
        message.default_model_filename = (
            message.default_model_filename or MODEL_FILENAME
        )
    elif unsaid and not message.backend:
        _backend_from_name(message, model_name)


def _backend_from_name(message: Any, model_name: str) -> None:
    _, dot, backend = model_name.partition(".")
    if not dot:
        raise ModelConfigError(
            f"Invalid model name: Could not determine backend for model "
            f"'{model_name}' with no backend in model configuration. Expected model "
            "name of the form 'model.<backend_name>'.",
            advice=f"A Python model needs {model_name}/1/{MODEL_FILENAME} "
            'or backend: "python".',
        )
    message.backend = backend
    message.default_model_filename = f"model.{backend}"


def _fill_instance_groups(message: Any, gpus: Sequence[int]) -> None:
    kinds = schema().ModelInstanceGroup
    if not message.instance_group:
        message.instance_group.add(name=message.name)
    for index, group in enumerate(message.instance_group):
        group.name = group.name or f"{message.name}_{index}"
        group.count = max(group.count, 1)
        if group.kind == kinds.KIND_AUTO:
            usable = bool(gpus) and all(gpu in gpus for gpu in group.gpus)
            group.kind = kinds.KIND_GPU if usable else kinds.KIND_CPU
        if group.kind == kinds.KIND_GPU and not group.gpus:
            group.gpus.extend(gpus)
