"""Measurements in a Python process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def run_json(*arguments: object) -> Any:
    """Run Python with arguments; return the JSON in its last line of output."""
    command = [sys.executable, *map(str, arguments)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout.splitlines()[-1])
