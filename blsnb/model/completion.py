"""Changes that ``auto_complete_config`` makes to a configuration."""

from __future__ import annotations

import json
import re
from typing import Any

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.normalization import fill_scheduling
from blsnb.model.text import json_form
from blsnb.model.text.schema import new_message
from blsnb.pb_utils import config as pb_utils_config

_SCHEDULERS = ("dynamic_batching", "sequence_batching", "ensemble_scheduling")
_BOOLEANS = ("true", "false")
_FILENAME = "default_model_filename"


def complete(config: ModelConfig, document: str) -> ModelConfig:
    """Return a configuration with the changes of the model.

    Parameters
    ----------
    document
        The JSON text of the configuration that ``auto_complete_config`` returned. Only
        ``max_batch_size``, the tensors, a first scheduler and
        ``model_transaction_policy`` have an effect.

    Raises
    ------
    ModelConfigError
        At stage ``create``: a value is not valid in a configuration.

    References
    ----------
    core: src/backend_model.cc, TritonModel::UpdateModelConfig
    """
    update = _read(config.name, document)
    message = config.message
    message.max_batch_size = update.max_batch_size
    for name in ("input", "output"):
        message.ClearField(name)
        getattr(message, name).extend(getattr(update, name))
    for name in _SCHEDULERS:
        if config.scheduling == "" and update.HasField(name):
            getattr(message, name).CopyFrom(getattr(update, name))
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


def check_ignored(document: str) -> None:
    """Refuse a completion without a file name, even if it has no other effect."""
    tree = json.loads(document)
    if not isinstance(tree, dict) or _FILENAME not in tree:
        raise _failed(f"attempt to access non-existing object member '{_FILENAME}'")


def _read(model_name: str, document: str) -> Any:
    _check_decoupled(_parsed(document))
    message = new_message()
    try:
        json_form.read(document, message)
    except json_form.JsonFormError as error:
        raise ModelConfigError(
            f"model configuration is not provided for model '{model_name}'",
            stage="create",
            code="NOT_FOUND",
            advice=f"auto_complete_config set an invalid value: {error}",
        ) from error
    return message


def _parsed(document: str) -> Any:
    """Parse the text as Triton does, which prints it again."""
    infinite: list[str] = []
    tree = json.loads(document, parse_constant=infinite.append)
    if re.search("[\ud800-\udbff]", json.dumps(tree, ensure_ascii=False)):
        raise _failed("Failed to parse auto-complete JSON.")
    if infinite:
        raise _failed("Failed to accept document, invalid JSON.")
    return tree


def _check_decoupled(tree: Any) -> None:
    policy = tree.get("model_transaction_policy") if isinstance(tree, dict) else None
    value = policy.get("decoupled") if isinstance(policy, dict) else None
    if value is None or isinstance(value, bool) or str(value).lower() in _BOOLEANS:
        return
    raise _failed(
        f"auto_complete_config sets 'decoupled' to {value!r}; expected a bool",
        "Triton ends when it reads this value. Set True or False.",
    )


def _failed(text: str, advice: str = "") -> ModelConfigError:
    advice = advice or "auto_complete_config may only set values that JSON has."
    return ModelConfigError(text, stage="create", code="INTERNAL", advice=advice)
