"""Read the files of a folder's models again, in full only where something changed."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path

from blsnb.repository.directory import Files, ModelDirectory, newest_ns, stamp_of
from blsnb.repository.repository import models_in

_TICK_NS = 50_000_000
"""Two changes within this time may have the same time in a file system."""


class FolderScan:
    """The files of the models in a folder.

    Most looks find nothing new: they cost one system call for each known file and
    folder, since a folder's time changes with its entries.

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
        """Whether a model's files are so new that their times prove nothing yet."""

    def read(self) -> dict[str, Files] | None:
        """Return the files of each model, none for one that cannot be read.

        The files of an unchanged model are the same object. None if the folder itself
        is gone or cannot be read.
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
    """Whether every file and folder still has its stamp."""
    try:
        return all(
            stamp_of(os.stat(folder + path)) == stamp for path, stamp in files.items()
        )
    except OSError:
        return False
