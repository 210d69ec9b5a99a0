"""Change: a model's folder is staged whole and becomes visible in one step."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from blsnb.errors import RepositoryError
from blsnb.files.owned import remove, unique
from blsnb.files.swap import Swap
from blsnb.repository.copying import contents
from blsnb.repository.directory import ModelDirectory

FileContent = str | bytes | Path
"""Text, bytes, or a file to copy."""
Files = Mapping[str, FileContent | None]
"""Contents by path relative to the model's folder; None removes a file."""
_HIDDEN = ".blsnb-"


class Change:
    """A new state of a model's folder in the private repository.

    A single file is exchanged by itself; else the folder is staged anew, and shares
    the files that stay with the present one.

    Parameters
    ----------
    place
        The model's folder.
    files
        What to write and remove.
    original
        A folder of the user's to start from, if the model has none of its own.
    """

    def __init__(self, place: Path, files: Files, original: Path | None = None) -> None:
        self._place = place
        self._files = files
        self._original = original
        self._staged = unique(place.parent, _HIDDEN)
        self._swap = Swap(self._staged, place)

    @contextlib.contextmanager
    def made(self, is_kept: Callable[[], bool]) -> Iterator[None]:
        """Make the change; undo it if the block raises.

        Parameters
        ----------
        is_kept
            Whether the change stays although the block raised.

        Raises
        ------
        RepositoryError
            A path leads out of the folder, a file to copy is missing, or the disk
            refuses.
        """
        done = False
        # Settled twice: an interrupt may come in the midst of the first time.
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
        self._follow()
        self._swap.discard()

    def _follow(self) -> None:
        """Keep the working directory: a model may have chosen its own folder."""
        with contextlib.suppress(OSError):
            here = Path.cwd()
            if here.is_relative_to(self._staged):
                os.chdir(self._place / here.relative_to(self._staged))

    def _apply(self) -> None:
        try:
            if self._stage():
                self._swap.apply()
        except OSError as error:
            what = f"{self._named(error)}: {error.strerror or error}"
            raise RepositoryError(f"{what}; the model is as it was") from error

    def _stage(self) -> bool:
        """Write what is new beside the model's folder; False if nothing is."""
        if self._place.is_dir():
            new = {p: c for p, c in self._files.items() if _is_new(self._place, p, c)}
            if not new:
                return False
            if len(new) == 1 and self._stage_file(*next(iter(new.items()))):
                return True
        self._stage_folder()
        return True

    def _stage_file(self, relative: str, content: FileContent | None) -> bool:
        """Write a file anew that can be exchanged by itself."""
        path = inside(self._place, relative)
        is_file = path.parent.is_dir() and not path.is_dir()
        # Without a version the change may need a folder, too.
        versions = ModelDirectory(self._place).versions
        if content is None or not is_file or not versions:
            return False
        self._swap = Swap(self._staged, path)
        _fill(self._staged, content)
        return True

    def _stage_folder(self) -> None:
        if self._place.is_dir():
            link_tree(self._place, self._staged)
        else:
            self._staged.mkdir()
            self._copy_original()
        for relative, content in self._files.items():
            if _is_new(self._staged, relative, content):
                _write(inside(self._staged, relative), content)
        staged = ModelDirectory(self._staged, self._place.name)
        if staged.is_ensemble() and not staged.versions:
            # It has no model file, and needs a version all the same.
            staged.version_dir(1).mkdir()

    def _copy_original(self) -> None:
        """Copy the user's files, which are never written."""
        found = {} if self._original is None else contents(self._original)
        for inner, source in found.items():
            copy = self._staged / inner
            copy.mkdir() if source.is_dir() else shutil.copy2(source, copy)

    def _named(self, error: OSError) -> str:
        """Return the file that an error is about, where it was to be."""
        found = Path(os.fsdecode(error.filename or self._staged))
        if found.is_relative_to(self._staged):
            return str(self._place / found.relative_to(self._staged))
        return str(found)


def _is_new(folder: Path, relative: str, content: FileContent | None) -> bool:
    """Whether a file of a model differs from what it shall hold.

    Raises
    ------
    RepositoryError
        The path leads out of the folder, or the file to copy is missing.
    """
    path = inside(folder, relative)
    if content is None:
        return os.path.lexists(path)
    if isinstance(content, Path):
        if not content.is_file():
            raise RepositoryError(f"there is no file {content}")
        return not _same_file(content, path)
    if path.is_symlink() or not path.is_file():
        return True
    return path.read_bytes() != _encoded(content)


def _write(path: Path, content: FileContent | None) -> None:
    # A link would lead elsewhere, and a file is shared with the present folder.
    remove(path)
    if os.path.lexists(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        _fill(path, content)


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


def link_tree(folder: Path, copy: Path) -> None:
    """Make a copy of a folder that shares its files; links in it stay links.

    A model may remove files of its folder meanwhile: what is gone is left out.

    Raises
    ------
    OSError
        The copy cannot be written, or the folder cannot be read.
    """
    copy.mkdir()
    for entry in list(os.scandir(folder)):
        with contextlib.suppress(FileNotFoundError):
            if entry.is_dir(follow_symlinks=False):
                link_tree(Path(entry.path), copy / entry.name)
            else:
                _link(Path(entry.path), copy / entry.name)
    # Whether a version is loaded anew depends on the times of its folders.
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
        path.write_bytes(_encoded(content))


def _encoded(content: str | bytes) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else content


def _same_file(source: Path, copy: Path) -> bool:
    """Whether a copy made before still is one: large weights are copied once."""
    if not copy.is_file():
        return False
    old, new = copy.stat(), source.stat()
    return (old.st_size, old.st_mtime_ns) == (new.st_size, new.st_mtime_ns)
