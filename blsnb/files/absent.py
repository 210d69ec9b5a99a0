"""Advice on files that are not where a user expects them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from blsnb.arguments import did_you_mean


@contextmanager
def absence_noted(path: Path) -> Iterator[None]:
    """Add a note to the error of an absent file: its folder, or a similar name."""
    __tracebackhide__ = True
    try:
        yield
    except FileNotFoundError as error:
        if note := _advice(path):
            error.add_note(note)
        raise


def _advice(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"There is no folder {str(folder)!r}. Create it, or correct the path."
    with suppress(OSError):
        return did_you_mean(path.name, os.listdir(folder))
    return ""
