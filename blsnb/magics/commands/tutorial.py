"""The tutorial notebooks: where they are, and how they get beside the user."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from blsnb.errors import BlsnbError

FOLDER = "blsnb-tutorial"
"""Where they are copied to if nobody says where."""
_PACKAGE = Path(__file__).parents[2]
# As a wheel brings them, and as they lie in a checkout.
_PLACES = (_PACKAGE / "notebooks", _PACKAGE.parent / "notebooks")


class NotebookError(BlsnbError):
    """The notebooks cannot be copied."""


class Copied(NamedTuple):
    """What became of the notebooks."""

    folder: Path
    written: list[str]
    kept: list[str]
    """Names of those that were there before, and are another text."""

    def lines(self) -> list[str]:
        """Return what became of them, for a reader."""
        from blsnb.views.format import counted

        first = notebooks()[0].name
        lines = []
        if self.written:
            written = counted(len(self.written), "notebook")
            lines.append(f"{written} written to {self.folder}")
        if self.kept:
            kept = ", ".join(self.kept)
            lines.append(f"left as they are, since they were changed: {kept}")
            lines.append("with --force they are written anew")
        if not lines:
            lines.append(f"{self.folder} has them all")
        return [*lines, f"begin with {self.folder / first}"]


def notebooks() -> list[Path]:
    """Return the notebooks that blsnb brings, in the order in which they are read.

    Raises
    ------
    NotebookError
        It was installed without them.
    """
    for place in _PLACES:
        found = sorted(place.glob("[0-9]*.ipynb"))
        if found:
            return found
    raise NotebookError("this installation of blsnb has no notebooks")


def copy_notebooks(folder: Path, *, force: bool = False) -> Copied:
    """Copy the notebooks into a folder, which is made if need be.

    Parameters
    ----------
    force
        Whether a notebook that is there already, with another text, is written anew;
        else it stays.

    Raises
    ------
    NotebookError
        They are not there, or cannot be written.
    """
    copied = Copied(folder, [], [])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for notebook in notebooks():
            _copy(notebook, copied, force=force)
    except OSError as error:
        why = error.strerror or str(error)
        raise NotebookError(f"{folder} cannot have the notebooks: {why}") from error
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
