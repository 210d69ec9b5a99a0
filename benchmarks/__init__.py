"""Benchmarks of blsnb and of a real Triton server, measured in one run."""

import sys
from pathlib import Path

# Benchmarks use the conformance tests' real server, which needs their helpers.
sys.path.append(str(Path(__file__).parents[1] / "tests"))
