"""What a real server is told, so that it is set up as the one in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from blsnb.engine.scheduling.resource_admission import ResourceAdmission
from blsnb.engine.settings import Settings


def server_options(settings: Settings, caches: Path) -> list[str]:
    """Return the arguments of a ``tritonserver`` command.

    Parameters
    ----------
    caches
        The folder of the real server's response caches.
    """
    options = ["--disable-auto-complete-config"] * settings.strict_model_config
    if settings.cache_bytes:
        options.append(f"--cache-config=local,size={settings.cache_bytes}")
        if caches.is_dir():
            options.append(f"--cache-directory={caches}")
    if settings.rate_limits is not None:
        options.append("--rate-limit=execution_count")
        options += _resources(settings.rate_limits)
    return options


def _resources(limits: ResourceAdmission) -> Iterator[str]:
    for name, counts in limits.given.items():
        for device, count in counts.items():
            place = "" if device is None else f":{device}"
            yield f"--rate-limit-resource={name}:{count}{place}"
