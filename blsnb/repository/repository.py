"""ModelRepository: the folders of the models, some of them our own."""

from __future__ import annotations

import contextlib
import difflib
import os.path
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from blsnb.errors import RepositoryError
from blsnb.files.owned import OwnedFolder, sweep
from blsnb.repository.change import Change, Files
from blsnb.repository.copying import complete_exports
from blsnb.repository.directory import ModelDirectory, folders_in

Roots = str | Path | Sequence[str | Path] | None
_PRIVATE = "blsnb-models-"
_NAME = re.compile(r"[^./\\\0][^/\\\0]*")
"""A folder's name; hidden folders are no models."""
_SURROGATES = re.compile("[\ud800-\udfff]")
"""What Python makes of bytes that are no UTF-8."""


class ModelRepository:
    """A private folder for models defined in a notebook, and folders of the user's.

    The private one is temporary and is removed by `close`, or after a process that was
    killed by the next one. The user's are read, never written, except that an export
    to them that was killed is completed.

    Parameters
    ----------
    roots
        A model repository on disk, several, or none.
    config_name
        Of the file in a model's ``configs`` that takes the place of its
        ``config.pbtxt``, if it is there.

    Raises
    ------
    RepositoryError
        One of them is no folder.
    """

    def __init__(self, roots: Roots = None, config_name: str = "") -> None:
        # A folder that is given twice is one.
        self.roots = tuple(dict.fromkeys(map(_folder, _listed(roots))))
        self._config_name = config_name
        place = Path(tempfile.gettempdir()).resolve()
        sweep(place, _PRIVATE)
        self._held = OwnedFolder(place, _PRIVATE)
        self.private_root = self._held.create()

    def __repr__(self) -> str:
        return f"<ModelRepository: {len(self.names())} models>"

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that models lie in, the private one first."""
        return (self.private_root, *self.roots)

    def add(self, root: str | Path) -> Path:
        """Read the models of one more folder, and return its path.

        Raises
        ------
        RepositoryError
            It is no folder, or it is our own.
        """
        folder = _folder(root)
        if folder.is_relative_to(self.private_root):
            raise RepositoryError(f"{folder} belongs to this server already")
        if folder not in self.roots:
            self.roots = (*self.roots, folder)
        return folder

    def names(self) -> list[str]:
        """Return the names of all models, sorted."""
        return sorted(self._places())

    def ambiguous(self) -> set[str]:
        """Return the names that two of the user's folders have: none is served.

        References
        ----------
        core: src/model_repository_manager.cc, ModelRepositoryManager::Poll
        """
        places = self._places()
        return {name for name, roots in places.items() if self._are_rivals(roots)}

    def _are_rivals(self, roots: Sequence[Path]) -> bool:
        return len(roots) > 1 and self.private_root not in roots

    def _places(self) -> dict[str, list[Path]]:
        """Return the folders that have a model, by its name."""
        places: dict[str, list[Path]] = {}
        for root in self.folders:
            for name in models_in(root):
                places.setdefault(name, []).append(root)
        return places

    def directory(self, name: str) -> ModelDirectory | None:
        """Return a model's folder, the private one first.

        None if there is none, or if two of the user's folders have it.
        """
        roots = self._roots_of(name)
        if not roots or self._are_rivals(roots):
            return None
        return ModelDirectory(roots[0] / name, config_name=self._config_name)

    def _roots_of(self, name: str) -> list[Path]:
        if not _is_name(name):
            return []
        return [root for root in self.folders if os.path.isdir(root / name)]

    def why_none(self, name: str) -> tuple[str, str]:
        """Return what Triton logs about a model that has no folder, and advice."""
        failed = f"failed to poll model '{name}'"
        roots = self._roots_of(name)
        if self._are_rivals(roots):
            found = " and ".join(str(root / name) for root in roots)
            advice = f"It is in {found}: remove or rename all but one."
            return f"{failed}: not unique across all model repositories", advice
        reason = f"{failed}: model not found in any model repository."
        return reason, self._advice_for(name)

    def _advice_for(self, name: str) -> str:
        if not _is_name(name):
            return (
                "A model is named like its folder: UTF-8 text, no path, no leading dot."
            )
        for root in self.folders:
            if not os.path.isdir(root):
                return f"The model repository {root} is gone."
            if os.path.islink(root / name):
                return f"{root / name} is a link that leads to no folder."
        known = difflib.get_close_matches(name, self.names(), n=3)
        return f"Is it one of these? {', '.join(known)}" if known else ""

    def private(self, name: str) -> ModelDirectory:
        """Return the folder of a model of our own, whether it exists or not.

        Raises
        ------
        RepositoryError
            The name cannot be a folder's.
        """
        if not _is_name(name):
            raise RepositoryError(
                f"{name!r} cannot name a model: it must be a folder's name"
            )
        return ModelDirectory(self.private_root / name)

    @contextlib.contextmanager
    def changing(
        self,
        name: str,
        files: Files,
        is_kept: Callable[[], bool] = lambda: False,
    ) -> Iterator[ModelDirectory]:
        """Change files of a model in one step; put everything back if the block raises.

        Parameters
        ----------
        files
            Path relative to the model's folder, and the text, bytes or file that
            it shall hold; None removes it.
        is_kept
            Whether the change stays although the block raised.

        Raises
        ------
        RepositoryError
            A path leads out of the folder, a file to copy is missing, or the disk
            refuses.
        """
        directory = self.private(name)
        original = self.directory(name)
        start = None if original is None else original.path
        with Change(directory.path, files, start).made(is_kept):
            yield directory

    def close(self) -> None:
        """Remove the private folder, unless this is a child of the creating process."""
        self._held.close()


def _listed(roots: Roots) -> Sequence[str | Path]:
    if roots is None:
        return ()
    return (roots,) if isinstance(roots, str | Path) else roots


def _folder(root: str | Path) -> Path:
    if not isinstance(root, str | Path) or not os.path.isdir(Path(root).expanduser()):
        raise RepositoryError(f"{str(root)!r} is no folder of models")
    folder = Path(root).expanduser().resolve()
    complete_exports(folder)
    return folder


def models_in(root: Path) -> list[str]:
    """Return the names of a folder's models: of its folders that are not hidden.

    A root that is gone has none; what was loaded from it serves on.
    """
    return [entry.name for entry in folders_in(root) if _is_name(entry.name)]


def _is_name(name: str) -> bool:
    """Whether a folder of this name is a model: hidden ones are none.

    Nor is one whose name is no text, which no configuration could hold.
    """
    return bool(_NAME.fullmatch(name)) and not _SURROGATES.search(name)
