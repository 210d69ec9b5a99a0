"""What may stand where a magic takes a path: the files and folders that there are."""

from __future__ import annotations

import os
from collections.abc import Iterator

_MOST = 500


def paths(fragment: str, *, folders_only: bool = False) -> list[str]:
    """Return what a path that is being typed may become; folders end with a slash.

    Hidden files come only after a dot; none whose name has a blank, which would end
    the path.

    Parameters
    ----------
    fragment
        As it was typed so far; ``~`` is the home folder.
    """
    head, slash, begun = fragment.rpartition("/")
    if fragment == "~":
        return ["~/"]
    folder = os.path.expanduser(head + slash) or "."
    names = sorted(_names(folder, begun, folders_only))
    return [f"{head}{slash}{name}" for name in names[:_MOST]]


def _names(folder: str, begun: str, folders_only: bool) -> Iterator[str]:
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
        # It is no folder, or none that may be read.
        return
