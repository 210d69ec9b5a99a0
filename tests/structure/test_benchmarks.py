"""The benchmarks can be started."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def test_all_modules_of_the_benchmarks_can_be_imported():
    """They are imported from a checkout without pytest's path."""
    names = [
        path.stem
        for path in Path(CHECKOUT, "benchmarks").glob("*.py")
        if not path.stem.startswith("__")
    ]
    imports = ", ".join(f"benchmarks.{name}" for name in ["__main__", *sorted(names)])
    subprocess.run(
        [sys.executable, "-c", f"import {imports}"], check=True, cwd=CHECKOUT
    )
