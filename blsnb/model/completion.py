"""Changes that ``auto_complete_config`` makes to a configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.normalization import fill_scheduling
from blsnb.model.text import json_form
from blsnb.model.text.schema import new_message
from blsnb.pb_utils import config as pb_utils_config

_EFFECTIVE = (
    "max_batch_size",
    "input",
    "output",
    "dynamic_batching",
    "model_transaction_policy",
)


def complete(
    config: ModelConfig, completed: pb_utils_config.ModelConfig | Mapping[str, Any]
) -> ModelConfig:
    """Return a normalised configuration with the changes of the model.

    Parameters
    ----------
    completed
        The value that ``auto_complete_config`` returned. Only ``max_batch_size``,
        ``input``, ``output``, ``dynamic_batching`` and ``model_transaction_policy``
        have an effect.

    Raises
    ------
    ModelConfigError
        At stage ``create``: a value is not valid in a configuration.

    References
    ----------
    core: src/backend_model.cc, TritonModel::UpdateModelConfig
    """
    if isinstance(completed, pb_utils_config.ModelConfig):
        completed = completed.as_dict()
    update = _read(config.name, completed)
    message = config.message
    if "max_batch_size" in completed:
        message.max_batch_size = update.max_batch_size
    for name in ("input", "output"):
        if name in completed:
            message.ClearField(name)
            getattr(message, name).extend(getattr(update, name))
    if config.scheduling == "" and update.HasField("dynamic_batching"):
        message.dynamic_batching.CopyFrom(update.dynamic_batching)
    if update.HasField("model_transaction_policy"):
        message.model_transaction_policy.CopyFrom(update.model_transaction_policy)
    fill_scheduling(message)
    return ModelConfig.of(message)


def check_returned(model_name: str, returned: Any) -> pb_utils_config.ModelConfig:
    """Return the result of ``auto_complete_config``."""
    if not isinstance(returned, pb_utils_config.ModelConfig):
        raise ModelConfigError(
            f"auto_complete_config function in model '{model_name}' must return a "
            "valid pb.ModelConfig object.",
            stage="create",
            code="INTERNAL",
            advice="End auto_complete_config with: return auto_complete_model_config",
        )
    return returned


def _read(model_name: str, completed: Mapping[str, Any]) -> Any:
    message = new_message()
    effective = {name: completed[name] for name in _EFFECTIVE if name in completed}
    try:
        json_form.read(json.dumps(effective), message)
    except TypeError as error:
        raise ModelConfigError(
            f"TypeError: {error}",
            stage="create",
            code="INTERNAL",
            advice="auto_complete_config may only set values that JSON has.",
        ) from error
    except json_form.JsonFormError as error:
        raise ModelConfigError(
            f"model configuration is not provided for model '{model_name}'",
            stage="create",
            code="NOT_FOUND",
            advice=f"auto_complete_config set an invalid value: {error}",
        ) from error
    return message
