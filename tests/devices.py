"""The devices that tests may use: a simulated one, and CuPy's where one answers."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from blsnb.runtimes.choosing import choose

MODULES = {"simulated": "blsnb.runtimes.simulated", "cupy": "cupy"}
"""Where a model finds the arrays of a runtime."""
try:
    CUPY, WHY_NOT = choose("cupy").runtime, ""
except ValueError as error:
    CUPY, WHY_NOT = None, str(error)
RUNTIMES = [
    pytest.param(name, marks=[pytest.mark.gpu] if name == "cupy" else [])
    for name in MODULES
    if name != "cupy" or CUPY is not None
]
"""Without a GPU one test says so, and why; the others are not there twice."""


def library(runtime: str) -> ModuleType:
    """Return the module of a runtime's arrays."""
    return importlib.import_module(MODULES[runtime])
