"""ControlMode: who decides which models serve."""

from __future__ import annotations

import enum
from collections.abc import Sequence

WILDCARD = "*"


class ControlMode(enum.StrEnum):
    """Triton's model control modes."""

    NONE = "none"
    """All models are loaded at the start; files may change afterwards."""
    POLL = "poll"
    """What is in the repository serves; changes are found by looking."""
    EXPLICIT = "explicit"
    """Models are loaded and unloaded when somebody asks for it."""


def parse_control_mode(text: str, startup_models: Sequence[str]) -> ControlMode:
    """Return the mode of a name.

    Raises
    ------
    ValueError
        It is none, or the startup models do not go with it.

    References
    ----------
    core: src/server.cc, InferenceServer::Init
    """
    if text not in list(ControlMode):
        known = ", ".join(map(repr, map(str, ControlMode)))
        raise ValueError(f"model_control_mode={text!r} is none of {known}")
    mode = ControlMode(text)
    if startup_models and mode is not ControlMode.EXPLICIT:
        raise ValueError(
            "Use of '--load-model' requires setting '--model-control-mode=explicit' "
            f"as well: startup_models and model_control_mode={text!r} do not go "
            "together"
        )
    if WILDCARD in startup_models and len(startup_models) > 1:
        raise ValueError(
            f"Wildcard model name '{WILDCARD}' must be the ONLY startup model if "
            "specified at all."
        )
    return mode
