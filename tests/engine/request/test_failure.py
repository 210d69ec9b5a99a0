"""Specification of the files whose frames are blsnb's own."""

from __future__ import annotations

from pathlib import Path

import pytest

import blsnb
from blsnb.engine.request.failure import is_ours

PACKAGE = Path(blsnb.__file__).resolve().parent


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (PACKAGE / "run.py", True),
        (PACKAGE / "engine" / "bls.py", True),
        (f"{PACKAGE}-models/double/1/model.py", False),
    ],
)
def test_a_model_in_a_folder_beside_the_package_is_not_ours(file, expected):
    """Its folder may begin with the package's name, and its frames are in errors."""
    assert expected == is_ours(str(file))
