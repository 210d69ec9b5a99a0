"""Undo: files are written so that everything can be put back."""

from __future__ import annotations

import contextlib
import os.path
import shutil
import tempfile
from pathlib import Path, PurePosixPath

from blsnb.errors import RepositoryError

FileContent = str | bytes | Path
"""Text, bytes, or a file to copy."""


def inside(folder: Path, relative: str) -> Path:
    """Return the path of a file in a model's folder.

    Raises
    ------
    RepositoryError
        It leads out of it.
    """
    parts = PurePosixPath(relative).parts
    if not parts or PurePosixPath(relative).is_absolute() or ".." in parts:
        raise RepositoryError(
            f"{relative!r} must be a path inside the model's folder, "
            "such as 1/helper.py"
        )
    path = folder.joinpath(*parts)
    # A model may have put a link into its folder.
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise RepositoryError(f"{relative!r} leads out of the model's folder by a link")
    return path


class Undo:
    """Moves files out of the way, and back."""

    def __init__(self, root: Path) -> None:
        # Beside the models and hidden, so that moving is renaming.
        self._folder = Path(tempfile.mkdtemp(prefix=".undo-", dir=root))
        self._moved: list[tuple[Path, Path | None]] = []
        self._made: list[Path] = []

    def made(self, folder: Path) -> None:
        """Take a folder away again."""
        self._made.append(folder)

    def make(self, folder: Path) -> None:
        """Make a folder, to be taken away again."""
        self._made.append(folder)
        folder.mkdir()

    def move_away(self, path: Path) -> None:
        """Make room for a file, and for the folders above it."""
        missing = [p for p in path.parents if not p.exists()]
        for folder in reversed(missing):
            self._made.append(folder)
            folder.mkdir()
        # A link that leads nowhere is there, too: to write it would be to follow it.
        there = os.path.lexists(path)
        kept = self._folder / str(len(self._moved)) if there else None
        # Noted first: Ctrl-C may come between any two steps.
        self._moved.append((path, kept))
        if kept is not None:
            path.rename(kept)

    def restore(self) -> None:
        """Put everything back as it was."""
        for path, kept in reversed(self._moved):
            if kept is None or os.path.lexists(kept):
                # What could not be made cannot be removed either: the rest must be.
                with contextlib.suppress(OSError):
                    path.unlink()
            if kept is not None and os.path.lexists(kept):
                kept.rename(path)
        for folder in reversed(self._made):
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Forget what was moved away."""
        shutil.rmtree(self._folder, ignore_errors=True)


def write(undo: Undo, path: Path, content: FileContent | None) -> None:
    """Write a file, or remove it, so that it can be undone.

    Raises
    ------
    RepositoryError
        The file to copy is missing, or the disk refuses: it is full, say.
    """
    if isinstance(content, Path):
        if not content.is_file():
            raise RepositoryError(f"there is no file {content}")
        if _same_file(content, path):
            return
    elif content is None and not os.path.lexists(path):
        return
    try:
        undo.move_away(path)
        _fill(path, content)
    except OSError as error:
        what = f"{error.filename or path}: {error.strerror or error}"
        raise RepositoryError(f"{what}; the model is as it was") from error


def _fill(path: Path, content: FileContent | None) -> None:
    if isinstance(content, Path):
        shutil.copy2(content, path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.write_bytes(content.encode("utf-8"))


def _same_file(source: Path, copy: Path) -> bool:
    """Whether a copy made before still is one: large weights are copied once."""
    if not copy.is_file():
        return False
    old, new = copy.stat(), source.stat()
    return (old.st_size, old.st_mtime_ns) == (new.st_size, new.st_mtime_ns)
