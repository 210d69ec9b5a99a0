"""Temporary folders of models that are loaded from files in memory."""

from __future__ import annotations

import posixpath
import tempfile
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from blsnb.engine.served import Served
from blsnb.files.owned import OwnedFolder, sweep
from blsnb.model.config import ModelConfig
from blsnb.repository.directory import CONFIG_FILE

_PREFIX = "file:"
_FOLDER = "folder"
"""Prefix of the folders' names, as on Triton."""


class OverrideFolders:
    """Writes the folders, and removes each once no instance runs from it."""

    def __init__(self) -> None:
        sweep(_place(), _FOLDER)
        self._lock = threading.RLock()
        """Held while the collections below change."""
        self._written: dict[Path, OwnedFolder] = {}
        self._used: dict[str, Path] = {}
        """Folders by the model that serves from them."""
        self._left: list[tuple[Path, list[Served]]] = []

    def write(self, config: ModelConfig, files: Mapping[str, bytes]) -> Path:
        """Write a folder of a model and return its path.

        Parameters
        ----------
        files
            Contents by ``file:`` and a path within the folder.
        """
        owned = OwnedFolder(_place(), _FOLDER)
        folder = owned.create()
        self._written[folder] = owned
        try:
            (folder / CONFIG_FILE).write_text(config.to_pbtxt(), encoding="utf-8")
            for key, content in files.items():
                path = _inside(folder, key)
                if key.endswith("/"):
                    raise IsADirectoryError(
                        f"failed to open binary file for write {path}/: Is a directory"
                    )
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        except BaseException:
            self.discard(folder)
            raise
        return folder

    @property
    def folders(self) -> tuple[Path, ...]:
        """All folders."""
        return tuple(self._written)

    def use(self, name: str, folder: Path, versions: Iterable[Served]) -> None:
        """Note that a model serves from a folder, temporary or not.

        Parameters
        ----------
        versions
            Versions that served until now and may still run.
        """
        with self._lock:
            if self._used.get(name) != folder:
                self.leave(name, versions)
            if folder in self._written:
                self._used[name] = folder

    def leave(self, name: str, versions: Iterable[Served]) -> None:
        """Note that a model no longer serves from its folder.

        Parameters
        ----------
        versions
            Versions that served from it and may still run.
        """
        with self._lock:
            folder = self._used.pop(name, None)
            if folder is not None:
                self._left.append((folder, list(versions)))
            for gone, left in list(self._left):
                if not any(version.is_running for version in left):
                    self._left.remove((gone, left))
                    self.discard(gone)

    def discard_unused(self, folder: Path) -> None:
        """Remove a temporary folder from which no model serves."""
        with self._lock:
            if folder not in self._used.values():
                self.discard(folder)

    def discard(self, folder: Path) -> None:
        """Remove a temporary folder; ignore any other."""
        owned = self._written.pop(folder, None)
        if owned is not None:
            owned.close()

    def close(self) -> None:
        """Remove all folders."""
        for folder in list(self._written):
            self.discard(folder)


def _place() -> Path:
    return Path(tempfile.gettempdir()).resolve()


def _inside(folder: Path, key: str) -> Path:
    if not key.startswith(_PREFIX):
        raise ValueError(
            f"The load parameter {key!r} is not valid; expected a file such as "
            "'file:1/model.py'."
        )
    # A leading slash means the folder.
    path = Path(posixpath.normpath(f"{folder}/{key.removeprefix(_PREFIX)}"))
    if folder not in path.parents:
        raise ValueError(
            f"Invalid file parameter '{key}' with normalized path '{path}' must stay "
            "within model directory."
        )
    return path
