"""The hooks of pre-commit run when a file changes that their check reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).parents[2]
READ = [
    ("types", "blsnb/errors.py"),
    ("types", "stubs/triton_python_backend_utils-stubs/__init__.pyi"),
    ("types", "tests/public_types.py"),
    ("types", "pyproject.toml"),
    ("rooms", "blsnb/errors.py"),
    ("rooms", "benchmarks/structure/limits.toml"),
    ("rooms", "CONTRIBUTING.md"),
    ("notebooks", "notebooks/01_first_pipeline.ipynb"),
    ("view", "js/src/view.ts"),
    ("view", "blsnb/views/static/view.js"),
    ("view", "blsnb/panel/labextension/package.json"),
]
"""Files that the check of a hook reads; the other hooks run always."""


@pytest.mark.parametrize(("hook", "file"), READ)
def test_a_hook_runs_for_what_its_check_reads(hook, file):
    """A commit that changes such a file is checked before it is made."""
    hooks = yaml.safe_load((CHECKOUT / ".pre-commit-config.yaml").read_text())
    patterns = {each["id"]: each.get("files") for each in hooks["repos"][0]["hooks"]}

    assert (CHECKOUT / file).exists()
    assert re.search(patterns[hook], file)
