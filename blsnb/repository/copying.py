"""Copies of models: read through links, written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from blsnb.errors import ModelConfigError, RepositoryError
from blsnb.files.owned import locked, matching, remove, unique
from blsnb.files.swap import OLD, Swap, put_back
from blsnb.repository.directory import ModelDirectory
from blsnb.repository.manifest import LEFT_OUT, digest_of

_DIGITS = 12
_PROBE = "-probe"


class ModelCopy:
    """A copy of a model that takes the place of what is in a folder, in one step.

    It is staged on the folder's file system, beside the folder where that is possible:
    Triton takes every folder in a repository for a model, hidden ones too.

    Parameters
    ----------
    directory
        The model.
    target
        The folder that the copy is put into; its path has no links.
    """

    def __init__(self, directory: ModelDirectory, target: Path) -> None:
        self._directory = directory
        self._target = target
        self._stage_in(target.parent)

    def _stage_in(self, folder: Path) -> None:
        staged = unique(folder, _prefix(self._target))
        self._swap = Swap(staged, self._target / self._directory.name)
        self._probe = self._target / f"{staged.name}{_PROBE}"

    def write(self, announce: Callable[[dict[str, str]], None]) -> dict[str, str]:
        """Copy the model and put the copy in its place.

        Parameters
        ----------
        announce
            Receives the digests before the copy becomes visible.

        Returns
        -------
        dict
            Digest of each file, by its path in the model.

        Raises
        ------
        OSError
            A file cannot be read or written; what is there is as it was.
        RepositoryError
            A link of the model leads nowhere.
        """
        # Settled twice: an interrupt may come in the midst of the first time.
        try:
            try:
                if not self._can_move():
                    self._stage_in(self._target)
                written = _copied(self._directory, self._swap.staged)
                announce(written)
                self._swap.apply()
            finally:
                self._settle()
        finally:
            self._settle()
        return written

    def _can_move(self) -> bool:
        """Whether a folder can be moved from where it is staged to the target."""
        probe = self._swap.staged
        try:
            probe.touch(exist_ok=False)
            # The same device may be mounted twice.
            probe.rename(self._probe)
        except OSError:
            return False
        finally:
            remove(self._probe)
            remove(probe)
        return True

    def _settle(self) -> None:
        self._swap.repair()
        remove(self._probe)
        self._swap.discard()


def complete_exports(target: Path) -> None:
    """Put right what exports to a folder left when they were killed.

    An export that is running keeps the folder locked, and is left alone.
    """
    # A folder that may not be written holds nothing of ours.
    with contextlib.suppress(OSError), locked(target, 0) as is_locked:
        if is_locked:
            complete_locked(target.resolve())


def complete_locked(target: Path) -> None:
    """Do the same in a folder that the caller has locked.

    Raises
    ------
    OSError
        A model cannot be moved back.
    """
    prefix, suffixes = _prefix(target), f"({re.escape(OLD)}|{_PROBE})?"
    for folder in (target.parent, target):
        for path in matching(folder, prefix, suffixes):
            if path.name.endswith(OLD):
                put_back(path, target)
            remove(path)


def _prefix(target: Path) -> str:
    """Return how the names of staged folders begin that belong to a target."""
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()
    return f".blsnb-export-{digest[:_DIGITS]}-"


def contents(folder: Path) -> dict[str, Path]:
    """Return the files and folders of a model, by path in it; links are followed.

    Raises
    ------
    RepositoryError
        A link leads nowhere, or to a folder that it lies in.
    """
    found: dict[str, Path] = {}
    _collect(folder, "", frozenset(), found)
    return found


def _collect(
    folder: Path, prefix: str, above: frozenset[Path], found: dict[str, Path]
) -> None:
    real = folder.resolve()
    if real in above:
        raise RepositoryError(f"{folder} is a link to a folder that it lies in")
    for entry in sorted(folder.iterdir()):
        if entry.name in LEFT_OUT:
            continue
        if not entry.is_dir() and not entry.is_file():
            raise RepositoryError(f"{entry} is no file, and no link to one")
        found[prefix + entry.name] = entry
        if entry.is_dir():
            _collect(entry, f"{prefix}{entry.name}/", above | {real}, found)


def _copied(directory: ModelDirectory, to: Path) -> dict[str, str]:
    """Copy a model and return the digests of its files, by path in it."""
    written: dict[str, str] = {}
    to.mkdir()
    if _is_ensemble(directory) and not directory.versions:
        # It has nothing to put there, and Triton wants the folder all the same.
        (to / "1").mkdir()
    for inner, source in contents(directory.path).items():
        copy = to / inner
        if source.is_dir():
            copy.mkdir()
            continue
        shutil.copyfile(source, copy)
        shutil.copymode(source, copy)
        written[inner] = digest_of(copy)
    return written


def _is_ensemble(directory: ModelDirectory) -> bool:
    try:
        return directory.config().scheduling == "ensemble_scheduling"
    except ModelConfigError:
        return False
