"""Completion of paths."""

from __future__ import annotations

import os
from collections.abc import Iterator

_MAX_PATHS = 500
"""Maximum number of paths offered."""


def paths(fragment: str, *, folders_only: bool = False) -> list[str]:
    """Return the paths that start with a fragment; folders end with a slash.

    Hidden files are offered only after a dot. Names that contain whitespace, which
    would end the word, are never offered.
    """
    head, slash, begun = fragment.rpartition("/")
    if fragment == "~":
        return ["~/"]
    folder = os.path.expanduser(head + slash) or "."
    names = sorted(_entries(folder, begun, folders_only))
    return [f"{head}{slash}{name}" for name in names[:_MAX_PATHS]]


def _entries(folder: str, begun: str, folders_only: bool) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                hidden = name.startswith(".") and not begun.startswith(".")
                if hidden or not name.startswith(begun) or any(map(str.isspace, name)):
                    continue
                if entry.is_dir():
                    yield f"{name}/"
                elif not folders_only:
                    yield name
    except OSError:
        # A missing or unreadable folder has no candidates.
        return
