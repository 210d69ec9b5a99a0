"""Default values that Triton writes into a configuration before using it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blsnb.errors import ModelConfigError
from blsnb.model.backend_fields import ONLY_PYTHON, Entries, fill_backend
from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import schema

SEQUENCE_IDLE_US = 1_000_000
_CPU_INSTANCES = {"onnxruntime": 2, "tensorflow": 2}
"""Default number of CPU instances of backends for which it is not 1."""


def normalise(
    config: ModelConfig,
    *,
    model_name: str,
    entries: Entries = ONLY_PYTHON,
    gpu_count: int = 0,
) -> ModelConfig:
    """Return the configuration with Triton's defaults written out.

    Parameters
    ----------
    model_name
        Name of the model's folder.
    entries
        Contents of the first version's folder, which identify the backend.
    gpu_count
        Number of usable GPUs.

    Raises
    ------
    ModelConfigError
        At stage ``poll``: no backend can be deduced.

    References
    ----------
    core: src/model_config_utils.cc, NormalizeModelConfig, NormalizeInstanceGroup,
    SetDefaultInstanceCount
    """
    message = config.message
    message.name = message.name or model_name
    fill_backend(message, model_name, entries)
    fill_scheduling(message)
    if not message.HasField("ensemble_scheduling"):
        _fill_instance_groups(message, range(gpu_count))
    return ModelConfig.of(message)


def check_directory_name(config: ModelConfig, directory_name: str) -> None:
    """Refuse a model with another name than its folder, as Triton does last."""
    if config.name != directory_name:
        raise ModelConfigError(
            f"unexpected directory name '{directory_name}' for model '{config.name}', "
            "directory name must equal model name",
            advice=f'Write name: "{directory_name}", or leave name out.',
        )


def fill_scheduling(message: Any) -> None:
    """Write the defaults of version policy, batching and pinned memory."""
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


def _fill_instance_groups(message: Any, gpus: Sequence[int]) -> None:
    kinds = schema().ModelInstanceGroup
    if not message.instance_group:
        message.instance_group.add(name=message.name)
    for index, group in enumerate(message.instance_group):
        group.name = group.name or f"{message.name}_{index}"
        if group.kind == kinds.KIND_AUTO:
            usable = bool(gpus) and all(gpu in gpus for gpu in group.gpus)
            group.kind = kinds.KIND_GPU if usable else kinds.KIND_CPU
        on_cpu = group.kind == kinds.KIND_CPU
        default = _CPU_INSTANCES.get(message.backend, 1) if on_cpu else 1
        group.count = group.count if group.count > 0 else default
        if group.kind == kinds.KIND_GPU and not group.gpus:
            group.gpus.extend(gpus)
