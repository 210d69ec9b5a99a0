"""Values of the options of magics: enumerations, models and paths."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from blsnb.magics.completion.choices import TARGETS
from blsnb.magics.completion.known_models import model_names
from blsnb.magics.flags import Flags

_FILES = ("FILE", "PATH[:DEST]", "NAME_OR_PATH")
_FOLDER = "FOLDER"
_MAX_PATHS = 500
"""Maximum number of paths offered."""


def option_values(
    parser: Flags, before: list[str], fragment: str
) -> Iterable[str] | None:
    """Return the candidates for the value of an option.

    Parameters
    ----------
    before
        The words before the fragment, without the magic.

    Returns
    -------
    Iterable or None
        None if the fragment is not a value.
    """
    if before[-2:-1] == ["--as"]:
        return model_names()
    last = before[-1] if before else ""
    values = parser.values_of(last)
    if values is None:
        return None
    if last == "--target":
        return TARGETS
    if values.metavar in _FILES:
        return paths(fragment)
    if values.metavar == _FOLDER:
        return paths(fragment, folders_only=True)
    if last == "--as":
        return ("ensemble",)
    is_option = values.may_be_left_out and fragment.startswith("-")
    return None if is_option else values.choices


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
