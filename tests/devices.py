"""The devices of tests: a simulated one, and CuPy's where one responds."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from blsnb.runtimes.choosing import choose

MODULES = {"simulated": "blsnb.runtimes.simulated", "cupy": "cupy"}
"""Modules with the arrays of each runtime."""
try:
    CUPY, WHY_NOT = choose("cupy").runtime, ""
except ValueError as error:
    CUPY, WHY_NOT = None, str(error)
RUNTIMES = [
    pytest.param(name, marks=[pytest.mark.gpu] if name == "cupy" else [])
    for name in MODULES
    if name != "cupy" or CUPY is not None
]
"""Without a GPU, a single test is skipped with the reason."""


def library(runtime: str) -> ModuleType:
    """Return the module of a runtime's arrays."""
    return importlib.import_module(MODULES[runtime])
