"""Scripts that take pictures of the view in a real JupyterLab."""

import sys
from pathlib import Path

# The scripts use helpers of the tests, which import each other by their bare names.
sys.path.append(str(Path(__file__).parents[2] / "tests"))
