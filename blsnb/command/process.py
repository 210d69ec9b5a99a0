"""Replace this process by another program."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from blsnb.command.arguments import CommandError


def check_installed(module: str, package: str) -> None:
    """Raise an error that names the package to install if a module is missing."""
    if importlib.util.find_spec(module) is None:
        raise CommandError(
            f"{module} is not installed: {sys.executable} -m pip install {package!r}"
        )


def become(module: str, words: Sequence[str]) -> NoReturn:
    """Replace this process by ``python -m module``, which receives all signals."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", module, *words])
