"""The Python files of a model's version, parsed on demand."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from blsnb.model.config import ModelConfig
from blsnb.model_graph.sources.source import Program, Source
from blsnb.repository.directory import ModelDirectory

_MAX_FILES = 100
_MAX_BYTES = 1 << 20
"""Maximum number of Python files read per model, and of bytes per file."""


def version_folder(directory: ModelDirectory, config: ModelConfig) -> Path | None:
    """Return the folder of the newest version that serves, if any."""
    versions = directory.chosen_versions(config) or directory.versions
    return directory.version_dir(versions[-1]) if versions else None


class SourceFiles:
    """Python files in a version's folder, parsed on demand.

    Parameters
    ----------
    folder
        The folder of the version.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parsed: dict[str, Source | None] = {}
        self._program = Program(self._module)

    def paths(self) -> list[str]:
        """Return the paths of the files, relative to the folder."""
        return sorted(self._found())[:_MAX_FILES]

    def _found(self) -> Iterable[str]:
        for folder, folders, names in os.walk(self._folder):
            folders[:] = [name for name in folders if name != "__pycache__"]
            for name in names:
                if name.endswith(".py"):
                    path = Path(folder, name)
                    yield path.relative_to(self._folder).as_posix()

    def source(self, path: str) -> Source | None:
        """Return a parsed file; None if it is missing or larger than 1 MiB.

        Raises
        ------
        SyntaxError, ValueError
            The file is not valid Python.
        """
        if path not in self._parsed:
            self._parsed[path] = None
            text = self._text(path)
            if text is not None:
                self._parsed[path] = Source(path, text, self._program)
        return self._parsed[path]

    def valid_source(self, path: str) -> Source | None:
        """Return a parsed file; None if it cannot be read or is not valid Python."""
        try:
            return self.source(path)
        except (SyntaxError, ValueError):
            return None

    def _text(self, path: str) -> bytes | None:
        file = self._folder / path
        try:
            if not file.is_file() or file.stat().st_size > _MAX_BYTES:
                return None
            return file.read_bytes()
        except OSError:
            return None

    def _module(self, name: str) -> Source | None:
        """Return a module in the model's folder; None for other modules."""
        inner = name.strip(".").replace(".", "/")
        # Python prefers a package to a module of the same name.
        for path in (f"{inner}/__init__.py".lstrip("/"), f"{inner}.py"):
            found = self.valid_source(path)
            if found is not None:
                return found
        return None
