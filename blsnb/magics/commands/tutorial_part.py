"""``%triton tutorial``: the tutorial notebooks, copied beside the user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from IPython.core.error import UsageError

from blsnb.magics.commands.tutorial import FOLDER, NotebookError, copy_notebooks
from blsnb.magics.flags import Flags, HelpAsked

USAGE = "[FOLDER] [--force]"
SUMMARY = "copy the tutorial notebooks beside you"


def tutorial_flags() -> Flags:
    """Return the parser of ``%triton tutorial``."""
    flags = Flags("%triton tutorial", SUMMARY)
    add = flags.add_argument
    add(
        "folder",
        nargs="?",
        default=FOLDER,
        metavar="FOLDER",
        help=f"where to; it is made if need be ({FOLDER})",
    )
    add(
        "--force",
        action="store_true",
        help="write notebooks anew that were changed; else they stay",
    )
    return flags


def tutorial(words: Sequence[str]) -> None:
    """Do what the words say.

    Raises
    ------
    UsageError
        They are wrong, or the notebooks cannot be written.
    """
    try:
        given = tutorial_flags().parse(words)
    except HelpAsked:
        return
    try:
        copied = copy_notebooks(Path(given.folder).expanduser(), force=given.force)
    except NotebookError as error:
        raise UsageError(f"%triton tutorial: {error}") from error
    print("\n".join(copied.lines()))
