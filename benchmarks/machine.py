"""What a measurement must be read with: the machine and the versions."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.sides import Sides


def facts(sides: Sides) -> dict[str, Any]:
    """Return the facts of this machine and this environment, now."""
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": platform.python_version(),
        "blsnb": version("blsnb"),
        "numpy": version("numpy"),
        "triton": sides.triton.version if sides.triton else None,
        "triton_python": sides.env.python_version if sides.env else None,
    }


def processor() -> str:
    """Return the processor's name where the system tells it."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = (line.partition(":")[2] for line in lines if line.startswith("model name"))
    return next(names, platform.machine()).strip()
