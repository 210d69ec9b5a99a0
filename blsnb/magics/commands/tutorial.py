"""``%triton tutorial`` and ``require``: notebooks, and the packages that they need."""

from __future__ import annotations

import re
import shlex
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from IPython.core.error import UsageError

from blsnb.arguments import path_of
from blsnb.errors import BlsnbError
from blsnb.magics.commands.usages import SUMMARIES
from blsnb.magics.flags import Flags
from blsnb.magics.line import Line
from blsnb.printable import counted

FOLDER = "blsnb-tutorial"
"""Default folder of the copies."""
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_PACKAGE = Path(__file__).parents[2]
# In a wheel, and in a checkout.
_SOURCES = (_PACKAGE / "notebooks", _PACKAGE.parent / "notebooks")


def tutorial_flags() -> Flags:
    """Return the parser of ``%triton tutorial``."""
    flags = Flags("%triton tutorial", SUMMARIES["tutorial"])
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
        copied = copy_notebooks(given.folder, force=given.force)
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


def copy_notebooks(given: str | Path, *, force: bool = False) -> Copied:
    """Copy the notebooks into a folder, which is created if missing.

    Parameters
    ----------
    force
        Whether to replace a notebook that has another text.
    """
    try:
        folder = path_of(folder=given)
        copied = Copied(folder, [], [])
        folder.mkdir(parents=True, exist_ok=True)
        for notebook in notebooks():
            _copy(notebook, copied, force=force)
    except OSError as error:
        reason = error.strerror or str(error)
        raise NotebookError(
            f"the notebooks cannot be written to {given}: {reason}"
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


def require_flags() -> Flags:
    """Return the parser of ``%triton require``."""
    text = f"{SUMMARIES['require']}; installed versions are not compared"
    flags = Flags("%triton require", text)
    flags.add_argument(
        "packages",
        nargs="+",
        metavar="PACKAGE",
        help="requirement as pip takes it, such as scikit-learn or magika==1.0.3",
    )
    flags.add_argument(
        "--no-deps",
        action="store_true",
        help="install without dependencies: the notebook needs only files of the "
        "packages",
    )
    return flags


def require(line: Line) -> None:
    """Raise an error with the install command if a package is missing."""
    given = require_flags().parse(line.words)
    missing = [each for each in given.packages if not _is_installed(each)]
    if missing:
        names = ", ".join(map(_name, missing))
        verb = "are" if len(missing) > 1 else "is"
        options = "--no-deps " * given.no_deps
        raise UsageError(
            f"{names} {verb} not installed; run: "
            f"%pip install {options}{shlex.join(missing)}"
        )


def _is_installed(requirement: str) -> bool:
    try:
        distribution(_name(requirement))
    except PackageNotFoundError:
        return False
    return True


def _name(requirement: str) -> str:
    found = re.match(_NAME, requirement)
    if found is None:
        raise UsageError(f"{requirement!r} is not the name of a package")
    return found[0]
