"""Rows of a folder: a function loads each file."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from blsnb.arguments import refuse
from blsnb.evaluation.rows.records import Records

Loader = Callable[[Path], Mapping[str, Any]]


def folder_records(folder: Path, loader: Loader) -> Records:
    """Return a row for each file of a folder, sorted by path.

    Parameters
    ----------
    folder
        A folder, whose files in all folders below it are loaded; or a pattern such as
        ``crops/*.png``.
    loader
        Called with a file's path; returns the row as a dict. The path relative to the
        folder is added as ``path`` unless the dict has it.

    Raises
    ------
    ValueError
        There is no such file.
    """
    base, files = _files(folder)
    if not files:
        raise ValueError(f"{str(folder)!r} has no files; expected one for each row")

    def read() -> Iterator[Mapping[str, Any]]:
        for file in files:
            row = _loaded(loader, file)
            if not isinstance(row, Mapping):
                refuse(f"the loaded row of {file.name}", row, "a dict of inputs")
            yield {"path": str(file.relative_to(base)), **row}

    return Records(read, len(files), lambda: _digest(base, files))


def _loaded(loader: Loader, file: Path) -> Mapping[str, Any]:
    try:
        return loader(file)
    except Exception as error:
        error.add_note(f"the loader was called with {str(file)!r}")
        raise


def _files(folder: Path) -> tuple[Path, list[Path]]:
    base = folder
    if folder.is_dir():
        paths = folder.rglob("*")
        found = [each for each in paths if not _is_hidden(each.relative_to(folder))]
    else:
        found = [Path(each) for each in glob.glob(str(folder), recursive=True)]
        base = folder.parent
        while glob.has_magic(str(base)):
            base = base.parent
    return base, sorted(each for each in found if each.is_file())


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _digest(base: Path, files: list[Path]) -> str:
    """Return a digest of the names and sizes of files."""
    facts = (f"{each.relative_to(base)}\0{each.stat().st_size}\0" for each in files)
    return hashlib.sha256("".join(facts).encode(errors="surrogateescape")).hexdigest()
