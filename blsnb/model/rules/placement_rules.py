"""What a configuration says of where a model gets its inputs."""

from __future__ import annotations

from typing import Any

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig

FORCE_CPU = "FORCE_CPU_ONLY_INPUT_TENSORS"


def check_force_cpu(message: Any) -> None:
    """Refuse a value of the parameter that Triton's Python backend does not know.

    References
    ----------
    python_backend: src/python_be.cc, ModelState::ModelState
    """
    if message.backend != "python" or FORCE_CPU not in message.parameters:
        return
    value = message.parameters[FORCE_CPU].string_value
    if value not in ("yes", "no"):
        raise ModelConfigError(
            # The single quotation mark is Triton's.
            f"Incorrect value for {FORCE_CPU}: {value}'",
            stage="create",
            code="UNSUPPORTED",
            advice='Write "yes", or "no" for inputs that may be on a device.',
        )


def forces_cpu(config: ModelConfig) -> bool:
    """Whether all inputs of a Python model are moved to the host: by default."""
    return config.parameters.get(FORCE_CPU, "yes") != "no"
