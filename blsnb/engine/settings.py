"""How a server's engine loads models and runs requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from blsnb.engine.instance.placement import Placements
from blsnb.engine.metrics.config import MetricsConfig
from blsnb.engine.scheduling.resource_admission import ResourceAdmission


class Settings(NamedTuple):
    """How models are loaded and requests run.

    Parameters
    ----------
    release
        The followed Triton release, such as ``(24, 10)``.
    hang_notice_s
        Seconds after which a wait is reported.
    strict_model_config
        Whether a model needs a complete configuration.
    cache_bytes
        Size of the response cache; 0 for none.
    rate_limits
        Resources that executions need besides an instance; None for no rate limits.
    placements
        Moves tensors between the host and devices; None for the host only.
    metrics
        Which latencies the metrics page shows.
    """

    release: tuple[int, int]
    hang_notice_s: float = 10.0
    strict_model_config: bool = False
    cache_bytes: int = 0
    rate_limits: ResourceAdmission | None = None
    placements: Placements | None = None
    metrics: MetricsConfig = MetricsConfig()

    def arguments(self) -> list[str]:
        """Return the arguments of ``tritonserver`` that repeat these settings."""
        arguments = ["--disable-auto-complete-config"] * self.strict_model_config
        if self.cache_bytes:
            arguments.append(f"--cache-config=local,size={self.cache_bytes}")
        if self.rate_limits is not None:
            arguments.append("--rate-limit=execution_count")
            arguments += _resources(self.rate_limits)
        return arguments


def _resources(limits: ResourceAdmission) -> Iterator[str]:
    for name, counts in limits.given.items():
        for device, count in counts.items():
            suffix = "" if device is None else f":{device}"
            yield f"--rate-limit-resource={name}:{count}{suffix}"
