"""Change a model's folder in one step: stage the new state, then swap."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from blsnb.arguments import is_possible_path
from blsnb.errors import RepositoryError
from blsnb.files.owned import remove, unique
from blsnb.files.swap import Swap
from blsnb.repository.directory import ModelDirectory

FileContent = str | bytes | Path
"""Text, bytes, or a file to copy."""
Files = Mapping[str, FileContent | None]
"""Contents by path relative to the model's folder; None removes a file."""
_HIDDEN = ".blsnb-"


class Change:
    """A new state of a model's folder in the private repository.

    A single file is swapped by itself; else a new folder is staged, which shares
    unchanged files with the present one.

    Parameters
    ----------
    folder
        The model's folder.
    files
        Files to write and remove.
    original
        A copy of the user's folder to start from, if the private folder does not exist.
    """

    def __init__(
        self, folder: Path, files: Files, original: Path | None = None
    ) -> None:
        self._folder = folder
        self._files = files
        self._original = original
        self._staged = unique(folder.parent, _HIDDEN)
        self._swap = Swap(self._staged, folder)

    @contextlib.contextmanager
    def made(self, is_kept: Callable[[], bool]) -> Iterator[None]:
        """Make the change; undo it if the block raises and `is_kept` returns False."""
        done = False
        # Settled twice: the first time may be interrupted.
        try:
            try:
                self._apply()
                yield
                done = True
            finally:
                self._settle(done or is_kept())
        finally:
            self._settle(done or is_kept())

    def _settle(self, keep: bool) -> None:
        if not keep:
            self._swap.undo()
        # Keep the working directory, which a model may have set to its folder.
        with contextlib.suppress(OSError):
            here = Path.cwd()
            if here.is_relative_to(self._staged):
                os.chdir(self._folder / here.relative_to(self._staged))
        self._swap.discard()

    def _apply(self) -> None:
        try:
            if self._stage():
                self._swap.apply()
        except OSError as error:
            what = f"{self._named(error)}: {error.strerror or error}"
            raise RepositoryError(f"{what}; the model is as it was") from error

    def _stage(self) -> bool:
        """Stage what differs from the folder; return whether anything does."""
        if self._folder.is_dir():
            new = {p: c for p, c in self._files.items() if _is_new(self._folder, p, c)}
            if not new:
                return False
            if len(new) == 1 and self._stage_file(*next(iter(new.items()))):
                return True
        self._stage_folder()
        return True

    def _stage_file(self, relative: str, content: FileContent | None) -> bool:
        """Stage a single file if it can be swapped by itself."""
        path = inside(self._folder, relative)
        is_file = path.parent.is_dir() and not path.is_dir()
        # Without a version folder the change may have to make one.
        versions = ModelDirectory(self._folder).versions
        if content is None or not is_file or not versions:
            return False
        self._swap = Swap(self._staged, path)
        _fill(self._staged, content)
        return True

    def _stage_folder(self) -> None:
        # The user's files are never changed: the original is a copy of them.
        start = self._folder if self._folder.is_dir() else self._original
        if start is None:
            self._staged.mkdir()
        else:
            link_tree(start, self._staged)
        for relative, content in self._files.items():
            if _is_new(self._staged, relative, content):
                _write(inside(self._staged, relative), content)
        staged = ModelDirectory(self._staged, self._folder.name)
        if staged.is_ensemble() and not staged.versions:
            # An ensemble has no model file, but needs a version folder.
            staged.version_dir(1).mkdir()

    def _named(self, error: OSError) -> str:
        """Return the final path of the file that an error names."""
        found = Path(os.fsdecode(error.filename or self._staged))
        if found.is_relative_to(self._staged):
            return str(self._folder / found.relative_to(self._staged))
        return str(found)


def _is_new(folder: Path, relative: str, content: FileContent | None) -> bool:
    """Whether a file of a model differs from its new content."""
    path = inside(folder, relative)
    if content is None:
        return os.path.lexists(path)
    if isinstance(content, Path):
        if not content.is_file():
            found = "a folder is there" if content.is_dir() else "nothing is there"
            raise RepositoryError(
                f"the content of {relative!r} cannot be read: there is no file "
                f"{content} ({found}); pass the path of a file, or its bytes"
            )
        return not _same_file(content, path)
    if path.is_symlink() or not path.is_file():
        return True
    return path.read_bytes() != encoded(content)


def _write(path: Path, content: FileContent | None) -> None:
    # Never write in place: the path may be a link or a shared file.
    remove(path)
    if os.path.lexists(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        _fill(path, content)


def inside(folder: Path, relative: str) -> Path:
    """Return the path of a file in a model's folder; refuse paths outside of it."""
    parts = PurePosixPath(relative).parts
    is_inner = bool(parts) and not PurePosixPath(relative).is_absolute()
    if not is_inner or ".." in parts or not is_possible_path(relative):
        raise RepositoryError(
            f"{relative!r} must be a path inside the model's folder, "
            "such as 1/helper.py"
        )
    path = folder.joinpath(*parts)
    # A model may have put a link into its folder.
    real = Path(os.path.realpath(path.parent))
    if not real.is_relative_to(folder.resolve()):
        raise RepositoryError(f"{relative!r} leads out of the model's folder by a link")
    return path


def link_tree(folder: Path, copy: Path) -> None:
    """Copy a folder with hard links to its files; symbolic links stay links.

    A file that a model removes during the copy is left out.
    """
    copy.mkdir()
    for entry in list(os.scandir(folder)):
        with contextlib.suppress(FileNotFoundError):
            if entry.is_dir(follow_symlinks=False):
                link_tree(Path(entry.path), copy / entry.name)
            else:
                _link(Path(entry.path), copy / entry.name)
    # Whether a version is reloaded depends on the times of its folders.
    shutil.copystat(folder, copy)


def _link(file: Path, copy: Path) -> None:
    try:
        os.link(file, copy, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:
        # Some file systems have no hard links.
        shutil.copy2(file, copy, follow_symlinks=False)


def _fill(path: Path, content: FileContent) -> None:
    if isinstance(content, Path):
        shutil.copy2(content, path)
    else:
        path.write_bytes(encoded(content))


def encoded(content: str | bytes) -> bytes:
    """Return the bytes of a text.

    Raises
    ------
    RepositoryError
        It has half of a surrogate pair.
    """
    if isinstance(content, bytes):
        return content
    try:
        # The surrogates of a configuration are bytes of its comments.
        return content.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        line = content.count("\n", 0, error.start) + 1
        raise RepositoryError(
            f"line {line} of the text has {content[error.start]!r}, half of a "
            "surrogate pair, which UTF-8 cannot represent"
        ) from None


def _same_file(source: Path, copy: Path) -> bool:
    """Whether an earlier copy is up to date: large weights are copied once."""
    if not copy.is_file():
        return False
    old, new = copy.stat(), source.stat()
    return (old.st_size, old.st_mtime_ns) == (new.st_size, new.st_mtime_ns)
