"""``%triton import`` and ``%triton export``: model repositories on disk."""

from __future__ import annotations

from IPython.display import display

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.magics.flags import Flags
from blsnb.magics.line import Line
from blsnb.magics.saved_files import show_followed

IMPORT_USAGE = "PATH [NAME ...] [--no-watch]"
IMPORT_SUMMARY = "load the models of a repository on disk, and follow their files"
EXPORT_USAGE = "PATH [NAME ...] [--force]"
EXPORT_SUMMARY = "write a model repository for Triton"


def import_flags() -> Flags:
    """Return the parser of ``%triton import``."""
    flags = Flags("%triton import", IMPORT_SUMMARY)
    add = flags.add_argument
    add("path", metavar="PATH", help="the folder of models")
    _add_names(flags, "models to load; all if none is given")
    add(
        "--no-watch",
        action="store_true",
        help="load the files as they are now; else a saved file is in service before "
        "the next request, and the cell says what was loaded or why not",
    )
    return flags


def import_models(line: Line) -> None:
    """Load the models of a repository on disk and show their table."""
    given = import_flags().parse(line.words)
    statuses = default.server().import_repository(
        given.path, given.names or None, watch=not given.no_watch
    )
    show_followed()
    if statuses:
        display(card.table(statuses), raw=True)
    else:
        print(f"There are no models in {given.path}: each would be a folder in it.")


def export_flags() -> Flags:
    """Return the parser of ``%triton export``."""
    flags = Flags("%triton export", EXPORT_SUMMARY)
    add = flags.add_argument
    add("path", metavar="PATH", help="the folder to write; created if missing")
    _add_names(flags, "models; all if none is given")
    add(
        "--force",
        action="store_true",
        help="overwrite files that no export wrote, or that were changed since",
    )
    return flags


def export_models(line: Line) -> None:
    """Write a model repository and show what was written."""
    given = export_flags().parse(line.words)
    exported = default.server().export_repository(
        given.path, given.names or None, force=given.force
    )
    display(card.exported(exported), raw=True)


def _add_names(flags: Flags, text: str) -> None:
    # With a default, argparse does not call them required.
    flags.add_argument("names", nargs="*", default=[], metavar="NAME", help=text)
