"""Another program that takes the place of this one."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from blsnb.command.words import Mistake


def check_installed(module: str, package: str) -> None:
    """Refuse to go on without a module.

    Parameters
    ----------
    package
        What to install then.

    Raises
    ------
    Mistake
        It is not installed.
    """
    if importlib.util.find_spec(module) is None:
        raise Mistake(
            f"{module} is not installed: {sys.executable} -m pip install {package!r}"
        )


def become(module: str, words: Sequence[str]) -> NoReturn:
    """Run a module in the place of this process, which ends with its status.

    Signals, the terminal and Ctrl-C are the other program's alone.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", module, *words])
