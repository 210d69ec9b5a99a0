"""Rewrite golden/ from a real server: python -m tests.conformance.record_golden."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """Install the server if necessary, then run every case on it."""
    variables = {"BLSNB_REQUIRE_TRITON": "1", "BLSNB_RECORD_GOLDEN": "1"}
    env = {**os.environ, **variables}
    for command in (
        [sys.executable, "-m", "blsnb.parity.install"],
        [sys.executable, "-m", "pytest", "-q", "-k", "triton", str(HERE)],
    ):
        if code := subprocess.run(command, env=env).returncode:
            return code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
