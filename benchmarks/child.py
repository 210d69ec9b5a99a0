"""A Python process of its own that measures something and prints JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def ask(*arguments: object) -> Any:
    """Run Python with arguments; return what its last line says."""
    command = [sys.executable, *map(str, arguments)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout.splitlines()[-1])
