"""Copies of models, written completely or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from blsnb.errors import RepositoryError
from blsnb.files.owned import locked, matching, remove, unique
from blsnb.files.swap import OLD, Swap, put_back
from blsnb.repository.directory import CONFIG_FILE, ModelDirectory
from blsnb.repository.manifest import LEFT_OUT, digest_of

_DIGITS = 12
_PROBE = "-probe"


class ModelCopy:
    """A copy of a model that replaces an earlier one in a single step.

    It is staged beside the target if both are on one file system: Triton takes every
    folder in a repository for a model, hidden ones included.

    Parameters
    ----------
    directory
        The model.
    target
        The folder that receives the copy; its path has no links.
    texts
        Files whose content is another in the copy, by path in the model; of files that
        the model lacks only a configuration is written.
    """

    def __init__(
        self,
        directory: ModelDirectory,
        target: Path,
        texts: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        self._directory = directory
        self._texts = texts
        self._target = target
        self._stage_in(target.parent)

    def _stage_in(self, folder: Path) -> None:
        staged = unique(folder, _prefix(self._target))
        self._swap = Swap(staged, self._target / self._directory.name)
        self._probe = self._target / f"{staged.name}{_PROBE}"

    def write(self, announce: Callable[[dict[str, str]], None]) -> dict[str, str]:
        """Copy the model, then replace the earlier copy.

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
            A file cannot be read or written; the earlier copy is unchanged.
        RepositoryError
            A link of the model is broken.
        """
        # Settled twice: the first time may be interrupted.
        try:
            try:
                if not self._can_move():
                    self._stage_in(self._target)
                written = _copied(self._directory, self._swap.staged, self._texts)
                announce(written)
                self._swap.apply()
            finally:
                self._settle()
        finally:
            self._settle()
        return written

    def _can_move(self) -> bool:
        """Whether the staged folder can be moved to the target."""
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
    """Complete exports to a folder that were killed.

    A running export keeps the folder locked and is left alone.
    """
    # An export never wrote to a folder that is not writable.
    with contextlib.suppress(OSError), locked(target, 0) as is_locked:
        if is_locked:
            complete_locked(target.resolve())


def complete_locked(target: Path) -> None:
    """Complete killed exports to a folder that the caller has locked."""
    prefix, suffixes = _prefix(target), f"({re.escape(OLD)}|{_PROBE})?"
    for folder in (target.parent, target):
        for path in matching(folder, prefix, suffixes):
            if path.name.endswith(OLD):
                put_back(path, target)
            remove(path)


def _prefix(target: Path) -> str:
    """Return the prefix of the names of a target's staged folders."""
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()
    return f".blsnb-export-{digest[:_DIGITS]}-"


def contents(folder: Path) -> dict[str, Path]:
    """Return the files and folders of a model, by path in it; links are followed.

    Raises
    ------
    RepositoryError
        A link is broken, or leads to a folder above it.
    """
    found: dict[str, Path] = {}
    _collect(folder, "", frozenset(), found)
    return found


def _collect(
    folder: Path, prefix: str, above: frozenset[Path], found: dict[str, Path]
) -> None:
    real = folder.resolve()
    if real in above:
        raise RepositoryError(f"{folder} is a link to a folder above it")
    for entry in sorted(folder.iterdir()):
        if entry.name in LEFT_OUT:
            continue
        if not entry.is_dir() and not entry.is_file():
            raise RepositoryError(f"{entry} is neither a file nor a link to one")
        found[prefix + entry.name] = entry
        if entry.is_dir():
            _collect(entry, f"{prefix}{entry.name}/", above | {real}, found)


def _copied(
    directory: ModelDirectory, to: Path, texts: Mapping[str, bytes]
) -> dict[str, str]:
    """Copy a model and return the digests of its files, by path in it."""
    written: dict[str, str] = {}
    to.mkdir()
    if directory.is_ensemble() and not directory.versions:
        # An ensemble has no files, but Triton requires a version folder.
        (to / "1").mkdir()
    for inner, source in contents(directory.path).items():
        copy = to / inner
        if source.is_dir():
            copy.mkdir()
            continue
        if inner in texts:
            copy.write_bytes(texts[inner])
        else:
            shutil.copyfile(source, copy)
        shutil.copymode(source, copy)
        written[inner] = digest_of(copy)
    if CONFIG_FILE in texts and CONFIG_FILE not in written:
        (to / CONFIG_FILE).write_bytes(texts[CONFIG_FILE])
        written[CONFIG_FILE] = digest_of(to / CONFIG_FILE)
    return written
