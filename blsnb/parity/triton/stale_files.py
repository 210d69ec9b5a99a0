"""Leftovers: what a killed process could not remove, and its successor removes."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path


def owned(kind: str) -> str:
    """Return how the names of files begin that this process will remove.

    Parameters
    ----------
    kind
        What they are, such as ``"blsnb_"``.
    """
    return f"{_prefix(kind)}{os.getpid()}_"


def remove_leftovers(place: Path, kind: str) -> None:
    """Remove files and folders of such a name whose owner is no more."""
    prefix = _prefix(kind)
    for each in place.glob(f"{prefix}*"):
        owner = each.name.removeprefix(prefix).partition("_")[0]
        if owner.isdecimal() and not _lives(int(owner)):
            with contextlib.suppress(OSError):
                shutil.rmtree(each) if each.is_dir() else each.unlink()


def _prefix(kind: str) -> str:
    try:
        # Containers may share a place; then a number names other processes there.
        space = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        space = 0
    return f"{kind}{space}_"


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
