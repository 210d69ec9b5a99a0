"""Machine and versions of a measurement."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.servers import Servers


def facts(servers: Servers) -> dict[str, Any]:
    """Return facts on this machine and environment."""
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": platform.python_version(),
        "blsnb": version("blsnb"),
        "numpy": version("numpy"),
        "triton": servers.triton.version if servers.triton else None,
        "triton_python": servers.env.python_version if servers.env else None,
    }


def processor() -> str:
    """Return the processor's name, as far as the system publishes it."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = (line.partition(":")[2] for line in lines if line.startswith("model name"))
    return next(names, platform.machine()).strip()
