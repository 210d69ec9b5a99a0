"""Copies of models: read through links, written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from blsnb.errors import ModelConfigError, RepositoryError
from blsnb.repository.directory import ModelDirectory
from blsnb.repository.manifest import digest_of

_BESIDE = ".blsnb-"
_LEFT_OUT = frozenset({"__pycache__"})


def copy_model(directory: ModelDirectory, target: Path) -> dict[str, str]:
    """Put a copy of a model into a folder, in the place of what is there.

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
    beside = Path(tempfile.mkdtemp(prefix=_BESIDE, dir=target))
    try:
        written = _copied(directory, beside / "new")
        _swap(beside / "new", target / directory.name, beside / "old")
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return written


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
        if entry.name in _LEFT_OUT:
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


def _swap(new: Path, place: Path, old: Path) -> None:
    """Put a folder in the place of what is there, which stays if that fails."""
    there = os.path.lexists(place)
    if there:
        place.rename(old)
    try:
        new.rename(place)
    except BaseException:
        if there:
            old.rename(place)
        raise
