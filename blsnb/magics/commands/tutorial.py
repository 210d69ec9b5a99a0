"""``%triton tutorial``: copies of the tutorial notebooks that blsnb contains."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from IPython.core.error import UsageError

from blsnb.errors import BlsnbError
from blsnb.magics.flags import Flags
from blsnb.magics.line import Line

USAGE = "[FOLDER] [--force]"
SUMMARY = "copy the tutorial notebooks into a folder"
FOLDER = "blsnb-tutorial"
"""Default folder of the copies."""
_PACKAGE = Path(__file__).parents[2]
# In a wheel, and in a checkout.
_SOURCES = (_PACKAGE / "notebooks", _PACKAGE.parent / "notebooks")


def tutorial_flags() -> Flags:
    """Return the parser of ``%triton tutorial``."""
    flags = Flags("%triton tutorial", SUMMARY)
    add = flags.add_argument
    add(
        "folder",
        nargs="?",
        default=FOLDER,
        metavar="FOLDER",
        help=f"folder of the copies, created if missing ({FOLDER})",
    )
    add(
        "--force",
        action="store_true",
        help="replace notebooks that were changed; else they stay",
    )
    return flags


def tutorial(line: Line) -> None:
    """Copy the notebooks and print what was written."""
    given = tutorial_flags().parse(line.words)
    try:
        copied = copy_notebooks(Path(given.folder).expanduser(), force=given.force)
    except NotebookError as error:
        raise UsageError(f"%triton tutorial: {error}") from error
    print("\n".join(copied.lines()))


class NotebookError(BlsnbError):
    """The notebooks cannot be copied."""


class Copied(NamedTuple):
    """The result of copying notebooks, by name."""

    folder: Path
    written: list[str]
    kept: list[str]
    """Notebooks that were there before, with another text."""

    def lines(self) -> list[str]:
        """Return the result in sentences."""
        from blsnb.printable import counted

        first = notebooks()[0].name
        lines = []
        if self.written:
            written = counted(len(self.written), "notebook")
            lines.append(f"{written} written to {self.folder}")
        if self.kept:
            lines.append(f"changed notebooks were kept: {', '.join(self.kept)}")
            lines.append("--force replaces them")
        if not lines:
            lines.append(f"{self.folder} has them all")
        return [*lines, f"begin with {self.folder / first}"]


def notebooks() -> list[Path]:
    """Return the notebooks that blsnb contains, in reading order."""
    for folder in _SOURCES:
        found = sorted(folder.glob("[0-9]*.ipynb"))
        if found:
            return found
    raise NotebookError("this installation of blsnb has no notebooks")


def copy_notebooks(folder: Path, *, force: bool = False) -> Copied:
    """Copy the notebooks into a folder, which is created if missing.

    Parameters
    ----------
    force
        Whether to replace a notebook that has another text.
    """
    copied = Copied(folder, [], [])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for notebook in notebooks():
            _copy(notebook, copied, force=force)
    except OSError as error:
        reason = error.strerror or str(error)
        raise NotebookError(
            f"the notebooks cannot be written to {folder}: {reason}"
        ) from error
    return copied


def _copy(notebook: Path, copied: Copied, *, force: bool) -> None:
    to = copied.folder / notebook.name
    if to.exists() and to.read_bytes() == notebook.read_bytes():
        return
    if to.exists() and not force:
        copied.kept.append(notebook.name)
        return
    shutil.copyfile(notebook, to)
    copied.written.append(notebook.name)
