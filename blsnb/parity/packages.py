"""Packages that models import and that the real server's Python may lack."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from blsnb.errors import TritonServerError
from blsnb.parity import install
from blsnb.parity.discovery import install_command
from blsnb.parity.triton.environment import TritonEnv, installed
from blsnb.repository.requirements import requirements_text

_PRINT_MISSING = """
import json, sys
from importlib import metadata

def is_missing(pin):
    try:
        metadata.version(pin.partition("==")[0])
    except metadata.PackageNotFoundError:
        return True

print(json.dumps([pin for pin in sys.argv[1:] if is_missing(pin)]))
"""
_TIMEOUT_S = 60.0


def provide(
    env: TritonEnv,
    models: Sequence[Path],
    *,
    may_install: bool,
    report: Callable[[str], None],
) -> None:
    """Ensure that the server's Python has the packages that models import.

    Parameters
    ----------
    models
        Folders of the models.
    may_install
        Whether to install missing packages; only into an environment that blsnb made.
    report
        Receives a description of each step.

    Raises
    ------
    TritonServerError
        A package is missing; the text names the command that adds it.
    """
    absent = missing(env, imported(models))
    if not absent:
        return
    if not may_install or env != installed():
        raise TritonServerError(
            f"the models import {', '.join(absent)}, which the Python of the real "
            f"server ({env.python}) does not have",
            advice=f"Add what is missing:\n    {pip_command(env, absent)}",
        )
    report(f"install {', '.join(absent)}")
    install.add(env, absent)


def imported(models: Sequence[Path]) -> list[str]:
    """Return pins of the packages that models import, except NumPy."""
    lines = requirements_text(models).splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    return [pin for pin in pins if not pin.startswith("numpy==")]


def missing(env: TritonEnv, pins: Sequence[str]) -> list[str]:
    """Return the pins of packages that an environment lacks in every version."""
    if not pins:
        return []
    command = [env.python, "-c", _PRINT_MISSING, *pins]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise TritonServerError(
            f"the Python of the real server does not run: {error}"
        ) from error
    found: list[str] = json.loads(done.stdout)
    return found


def pip_command(env: TritonEnv, packages: Sequence[str]) -> str:
    """Return the command that adds packages to the server's Python."""
    if env == installed():
        return shlex.join([*shlex.split(install_command()), *packages])
    return shlex.join([env.python, "-m", "pip", "install", *packages])
