"""ModelRepository: the folders of the models, some of them our own."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from blsnb.errors import RepositoryError
from blsnb.repository.directory import ModelDirectory

FileContent = str | bytes | Path
Roots = str | Path | Sequence[str | Path] | None
_NAME = re.compile(r"[^./\\\0][^/\\\0]*")
"""A folder's name; hidden folders are no models."""


class ModelRepository:
    """A private folder for models defined in a notebook, and folders of the user's.

    The private one is temporary and is removed by `close`; the user's are read,
    never written.

    Parameters
    ----------
    roots
        A model repository on disk, several, or none.

    Raises
    ------
    RepositoryError
        One of them is no folder.
    """

    def __init__(self, roots: Roots = None) -> None:
        self.roots = tuple(map(_folder, _listed(roots)))
        self._held = tempfile.TemporaryDirectory(prefix="blsnb-")
        self.private_root = Path(self._held.name).resolve()

    def __repr__(self) -> str:
        return f"<ModelRepository: {len(self.names())} models>"

    def names(self) -> list[str]:
        """Return the names of all models, sorted."""
        folders = [root.iterdir() for root in (self.private_root, *self.roots)]
        names = {
            entry.name
            for entries in folders
            for entry in entries
            if entry.is_dir() and not entry.name.startswith(".")
        }
        return sorted(names)

    def directory(self, name: str) -> ModelDirectory | None:
        """Return a model's folder, the private one first; None if there is none."""
        if not _NAME.fullmatch(name):
            return None
        for root in (self.private_root, *self.roots):
            path = root / name
            if path.is_dir():
                return ModelDirectory(path)
        return None

    def private(self, name: str) -> ModelDirectory:
        """Return the folder of a model of our own, whether it exists or not.

        Raises
        ------
        RepositoryError
            The name cannot be a folder's.
        """
        if not _NAME.fullmatch(name):
            raise RepositoryError(
                f"{name!r} cannot name a model: it must be a folder's name"
            )
        return ModelDirectory(self.private_root / name)

    @contextlib.contextmanager
    def changing(
        self, name: str, files: Mapping[str, FileContent | None]
    ) -> Iterator[ModelDirectory]:
        """Write files of a model; put everything back if the block raises.

        Parameters
        ----------
        files
            Path relative to the model's folder, and the text, bytes or file that
            it shall hold; None removes it.

        Raises
        ------
        RepositoryError
            A path leads out of the folder, or a file to copy is missing.
        """
        directory = self.private(name)
        undo = _Undo(self.private_root)
        try:
            self._adopt(directory, undo)
            for relative, content in files.items():
                _write(undo, _inside(directory.path, relative), content)
            yield directory
        except BaseException:
            undo.restore()
            raise
        finally:
            undo.close()

    def _adopt(self, directory: ModelDirectory, undo: _Undo) -> None:
        """Copy a model of the user's before it is changed: theirs is never written."""
        original = self.directory(directory.name)
        if original is None or original.path == directory.path:
            return
        undo.made(directory.path)
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(original.path, directory.path, ignore=ignore)

    def close(self) -> None:
        """Remove the private folder."""
        self._held.cleanup()


def _listed(roots: Roots) -> Sequence[str | Path]:
    if roots is None:
        return ()
    return (roots,) if isinstance(roots, str | Path) else roots


def _folder(root: str | Path) -> Path:
    if not isinstance(root, str | Path) or not Path(root).is_dir():
        raise RepositoryError(f"{str(root)!r} is no folder of models")
    return Path(root).resolve()


def _inside(folder: Path, relative: str) -> Path:
    parts = PurePosixPath(relative).parts
    if not parts or PurePosixPath(relative).is_absolute() or ".." in parts:
        raise RepositoryError(
            f"{relative!r} must be a path inside the model's folder, "
            "such as 1/helper.py"
        )
    return folder.joinpath(*parts)


class _Undo:
    """Moves files out of the way, and back."""

    def __init__(self, root: Path) -> None:
        # Beside the models and hidden, so that moving is renaming.
        self._folder = Path(tempfile.mkdtemp(prefix=".undo-", dir=root))
        self._moved: list[tuple[Path, Path | None]] = []
        self._made: list[Path] = []

    def made(self, folder: Path) -> None:
        """Take a folder away again."""
        self._made.append(folder)

    def move_away(self, path: Path) -> None:
        """Make room for a file, and for the folders above it."""
        missing = [p for p in path.parents if not p.exists()]
        for folder in reversed(missing):
            self._made.append(folder)
            folder.mkdir()
        kept = self._folder / str(len(self._moved)) if path.exists() else None
        # Noted first: Ctrl-C may come between any two steps.
        self._moved.append((path, kept))
        if kept is not None:
            path.rename(kept)

    def restore(self) -> None:
        """Put everything back as it was."""
        for path, kept in reversed(self._moved):
            if kept is None or kept.exists():
                path.unlink(missing_ok=True)
            if kept is not None and kept.exists():
                kept.rename(path)
        for folder in reversed(self._made):
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Forget what was moved away."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _write(undo: _Undo, path: Path, content: FileContent | None) -> None:
    if isinstance(content, Path):
        if not content.is_file():
            raise RepositoryError(f"there is no file {content}")
        if _same_file(content, path):
            return
    elif content is None and not path.exists():
        return
    undo.move_away(path)
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
