"""Copies of models whose requests are traced together with those of their callers.

A server traces the requests of a model only if the model passes on the trace of the
request that it executes. The models of a copy do so; nothing else is changed in them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

_SOURCE = Path(__file__).with_name("traced_model.txt")
_MODEL, _ORIGINAL = "model.py", "model_with_its_trace.py"


def copy_traced(repository: Path, names: Iterable[str], folder: Path) -> None:
    """Copy models into an empty folder.

    A model whose configuration names another file than ``model.py`` is copied as it
    is.
    """
    for name in names:
        copy = folder / name
        shutil.copytree(repository / name, copy, symlinks=True)
        for model in copy.glob(f"*/{_MODEL}"):
            model.rename(model.with_name(_ORIGINAL))
            shutil.copyfile(_SOURCE, model)
