"""Scan the files of a folder's models; read changed models only."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path

from blsnb.repository.directory import Files, ModelDirectory, newest_ns, stamp_of
from blsnb.repository.repository import models_in

_TICK_NS = 50_000_000
"""Resolution of modification times in a file system, in nanoseconds."""


class FolderScan:
    """The files of the models in a folder.

    Without changes a scan costs one system call for each known file and folder: the
    modification time of a folder changes with its entries.

    Parameters
    ----------
    root
        The folder of models.
    names
        Names of the models to read; None for all, new ones included.
    """

    def __init__(self, root: Path, names: Collection[str] | None = None) -> None:
        self.root = root
        self.names = None if names is None else set(names)
        self.files: dict[str, Files] = {}
        """The result of the last `read`."""
        self._is_fresh: dict[str, bool] = {}
        """Whether a model's files are too new for their times to show later changes."""

    def read(self) -> dict[str, Files] | None:
        """Return the files of each model; empty for an unreadable model.

        The files of an unchanged model are the same object. None if the folder itself
        is missing or unreadable.
        """
        try:
            os.scandir(self.root).close()
        except OSError:
            return None
        present = models_in(self.root)
        if self.names is not None:
            present = [name for name in present if name in self.names]
        self.files = {name: self._files_of(name) for name in present}
        return self.files

    def _files_of(self, name: str) -> Files:
        known, folder = self.files.get(name), f"{self.root}{os.sep}{name}{os.sep}"
        if known and not self._is_fresh[name] and _is_unchanged(folder, known):
            return known
        files = ModelDirectory(self.root / name).files()
        self._is_fresh[name] = newest_ns(files) > time.time_ns() - _TICK_NS
        return known if known == files else files


def _is_unchanged(folder: str, files: Files) -> bool:
    """Whether no file or folder has changed."""
    try:
        return all(
            stamp_of(os.stat(folder + path)) == stamp for path, stamp in files.items()
        )
    except OSError:
        return False
