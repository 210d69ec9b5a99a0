"""Packages that models import, and that the real server's Python may not have."""

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

_ASK = """
import json, sys
from importlib import metadata

def is_missing(pin):
    try:
        metadata.version(pin.partition("==")[0])
    except metadata.PackageNotFoundError:
        return True

print(json.dumps([pin for pin in sys.argv[1:] if is_missing(pin)]))
"""
_PATIENCE_S = 60.0


def provide(
    env: TritonEnv,
    models: Sequence[Path],
    *,
    may_install: bool,
    say: Callable[[str], None],
) -> None:
    """See to it that the server's Python has what models import.

    Parameters
    ----------
    models
        Their folders.
    may_install
        Whether what is missing may be installed, if the environment is of its own.
    say
        Told what is being done.

    Raises
    ------
    TritonServerError
        Something is missing; the text says the command that adds it.
    """
    absent = missing(env, imported(models))
    if not absent:
        return
    if not may_install or env != installed():
        raise TritonServerError(
            f"the models import {', '.join(absent)}, which the Python of the real "
            f"server ({env.python}) does not have",
            advice=f"This adds what is missing:\n    {command_adding(env, absent)}",
        )
    say(f"installs {', '.join(absent)}")
    install.add(env, absent)


def imported(models: Sequence[Path]) -> list[str]:
    """Return the packages that models import beside NumPy, in the versions here."""
    lines = requirements_text(models).splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    return [pin for pin in pins if not pin.startswith("numpy==")]


def missing(env: TritonEnv, pins: Sequence[str]) -> list[str]:
    """Return those of the packages that an environment does not have, in any version.

    Raises
    ------
    TritonServerError
        Its Python does not run.
    """
    if not pins:
        return []
    command = [env.python, "-c", _ASK, *pins]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise TritonServerError(
            f"the Python of the real server does not run: {error}"
        ) from error
    found: list[str] = json.loads(done.stdout)
    return found


def command_adding(env: TritonEnv, absent: Sequence[str]) -> str:
    """Return the command that adds packages to the server's Python."""
    if env == installed():
        return shlex.join([*shlex.split(install_command()), *absent])
    return shlex.join([env.python, "-m", "pip", "install", *absent])
