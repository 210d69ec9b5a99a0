"""Each tutorial is executed once for all tests that look at what came of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from .executing import Executed, execute

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="session")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Executed]:
    """Return what executes a tutorial by its name, once."""

    @cache
    def executed(name: str) -> Executed:
        return execute(NOTEBOOKS / f"{name}.ipynb", tmp_path_factory.mktemp(name))

    return executed
