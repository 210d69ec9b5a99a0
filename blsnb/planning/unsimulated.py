"""Models that a plan refuses, because their scheduling is not simulated."""

from __future__ import annotations

from blsnb.errors import BlsnbError
from blsnb.model.config import ModelConfig
from blsnb.parts.server_parts import ServerParts
from blsnb.planning.calibration import HERE


def refuse_unsimulated(parts: ServerParts, name: str, world: str = HERE) -> None:
    """Refuse a model whose scheduling is not simulated, or not observed in a world.

    Raises
    ------
    BlsnbError
        The text names the model and the reason.
    """
    config = parts.engine.catalog.config(name)
    if config is None:
        return
    reasons = _unsimulated(config)
    if world != HERE:
        reasons |= _unobserved(config)
    for what, is_there in reasons.items():
        if is_there:
            raise BlsnbError(f"model {name!r}: a plan does not simulate {what} yet")


def _unsimulated(config: ModelConfig) -> dict[str, bool]:
    # With the same inputs in all requests every one but the first would be a hit.
    return {
        "response caches": bool(config.message.response_cache.enable),
        "iterative sequences": config.iterative,
    }


def _unobserved(config: ModelConfig) -> dict[str, bool]:
    """Return what is simulated, and not observed on a real server."""
    groups = config.message.instance_group
    return {
        "sequences": config.scheduling == "sequence_batching",
        "decoupled models": config.decoupled,
        "rate limits": any(group.rate_limiter.ByteSize() for group in groups),
    }
