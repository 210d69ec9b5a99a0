"""The folders of the models: a private one, and the user's."""

from __future__ import annotations

import contextlib
import os.path
import re
import reprlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.arguments import did_you_mean, path_of
from blsnb.errors import RepositoryError
from blsnb.files.owned import Creator, OwnedFolder, unique
from blsnb.printable import counted, listed, printable
from blsnb.repository.change import Change, Files
from blsnb.repository.directory import ModelDirectory, folders_in
from blsnb.repository.imported.derivations import Derivations

if TYPE_CHECKING:
    from blsnb.repository.imported.derived import Derived

Roots = str | Path | Sequence[str | Path] | None
_PRIVATE = "blsnb-models-"
_REMOVED = ".removed-"
_NAME = r"[^./\\\0][^/\\\0]*"
"""The name of a folder that is not hidden."""
_MAX_NAME = 255
"""Maximum number of bytes of a folder's name."""
_MAX_NAMED = 20
"""Maximum number of models named in texts."""
_EXPECTED = f"UTF-8 text of at most {_MAX_NAME} bytes, no path, no leading dot"
_SURROGATES = "[\ud800-\udfff]"
"""How Python represents bytes that are not UTF-8."""


class ModelRepository:
    """A private folder for models defined in a notebook, and the user's folders.

    The private folder is temporary: `close` removes it, or the next process if this
    one is killed. The user's folders are only read, but an export to them that was
    killed is completed.

    Parameters
    ----------
    roots
        A model repository on disk, several, or none.
    config_name
        Name of the file in a model's ``configs`` folder that replaces its
        ``config.pbtxt``, if it exists.

    Raises
    ------
    RepositoryError
        A root is not a folder.
    """

    def __init__(self, roots: Roots = None, config_name: str = "") -> None:
        self.roots = tuple(dict.fromkeys(map(_folder, _listed(roots))))
        self._config_name = config_name
        self._held = OwnedFolder.temporary(_PRIVATE)
        self.private_root = self._held.create()
        self.derivations = Derivations(self.private_root)

    def __repr__(self) -> str:
        return f"<ModelRepository: {counted(len(self.names()), 'model')}>"

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that contain models, the private one first."""
        return (self.private_root, *self.roots)

    def add(self, root: str | Path) -> Path:
        """Add a folder of models and return its path.

        Raises
        ------
        RepositoryError
            It is not a folder, or it is the private one.
        """
        folder = _folder(root)
        if folder.is_relative_to(self.private_root):
            raise RepositoryError(f"{folder} belongs to this server already")
        if folder not in self.roots:
            self.roots = (*self.roots, folder)
        return folder

    def names(self) -> list[str]:
        """Return the names of all models, sorted."""
        return sorted(self._roots_by_name())

    def ambiguous(self) -> set[str]:
        """Return the names that two of the user's folders have: they do not serve.

        References
        ----------
        core: src/model_repository_manager.cc, ModelRepositoryManager::Poll
        """
        found = self._roots_by_name()
        return {name for name, roots in found.items() if self._is_ambiguous(roots)}

    def _is_ambiguous(self, roots: Sequence[Path]) -> bool:
        return len(roots) > 1 and self.private_root not in roots

    def _roots_by_name(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        for root in self.folders:
            for name in models_in(root):
                found.setdefault(name, []).append(root)
        return found

    def directory(self, name: str) -> ModelDirectory | None:
        """Return a model's folder, the private one first.

        None if there is no such model, or if two of the user's folders have it.
        """
        roots = self._roots_of(name)
        if not roots or self._is_ambiguous(roots):
            return None
        return ModelDirectory(roots[0] / name, config_name=self._config_name)

    def _roots_of(self, name: str) -> list[Path]:
        if not _is_name(name):
            return []
        return [root for root in self.folders if os.path.isdir(root / name)]

    def why_none(self, name: str) -> tuple[str, str]:
        """Return Triton's log line about a model without a folder, and advice."""
        failed = f"failed to poll model '{name}'"
        roots = self._roots_of(name)
        if self._is_ambiguous(roots):
            found = " and ".join(str(root / name) for root in roots)
            advice = f"It is in {found}: remove or rename all but one."
            return f"{failed}: not unique across all model repositories", advice
        reason = f"{failed}: model not found in any model repository."
        return reason, self._advice_for(name)

    def _advice_for(self, name: str) -> str:
        if not _is_name(name):
            return f"A model is named like its folder: {_EXPECTED}."
        for root in self.folders:
            if not os.path.isdir(root):
                return f"The model repository {root} is gone."
            if os.path.islink(root / name):
                return f"{root / name} is a link that does not lead to a folder."
        return f"Known models: {self.known_names(name)}"

    def known_names(self, name: str) -> str:
        """Return the models' names, and the one that an unknown name may mean."""
        names = self.names()
        known = printable(listed(names, _MAX_NAMED)) or "none"
        return f"{known}. {did_you_mean(name, names)}".rstrip()

    def private(self, name: str) -> ModelDirectory:
        """Return the private folder of a model, whether it exists or not.

        Raises
        ------
        RepositoryError
            The name cannot be the name of a folder.
        """
        if not _is_name(name):
            raise RepositoryError(
                f"{reprlib.repr(name)} cannot name a model; expected a folder's name: "
                f"{_EXPECTED}"
            )
        return ModelDirectory(self.private_root / name)

    def check_removable(self, name: str) -> None:
        """Refuse to remove a model whose folder is not the server's own.

        Raises
        ------
        RepositoryError
            There is no such model, or its folder is the user's.
        """
        roots = self._roots_of(name)
        if not roots:
            known = self.known_names(name)
            raise RepositoryError(f"there is no model {name!r}; there are: {known}")
        if roots[0] != self.private_root:
            raise RepositoryError(
                f"model {name!r} is in {roots[0]}, which this server only reads: "
                "unload it, or remove its folder there"
            )

    def remove(self, name: str) -> None:
        """Remove the private folder of a model, in one step for readers.

        Raises
        ------
        RepositoryError
            The folder cannot be removed.
        """
        self.release(name, lambda: True)

    def release(self, name: str, load: Callable[[], bool]) -> bool:
        """Remove the private folder of a model, so that the user's is loaded.

        Parameters
        ----------
        load
            Loads the model and returns whether it did; if not, the private folder is
            restored.

        Raises
        ------
        RepositoryError
            The folder cannot be removed.
        """
        folder = self.private(name).path
        gone = unique(folder.parent, _REMOVED)
        is_loaded = False
        creator = Creator()
        try:
            folder.rename(gone)
        except OSError as error:
            raise RepositoryError(f"{folder} cannot be removed: {error}") from error
        try:
            is_loaded = load()
        finally:
            # A forked child of model code that loads must not restore it.
            if not is_loaded and creator.is_current_process:
                gone.rename(folder)
        shutil.rmtree(gone, ignore_errors=True)
        self.derivations.settle(name)
        return is_loaded

    @contextlib.contextmanager
    def changing(
        self,
        name: str,
        files: Files,
        is_kept: Callable[[], bool] = lambda: False,
    ) -> Iterator[ModelDirectory]:
        """Change files of a private model in one step; undo it if the block raises.

        Parameters
        ----------
        files
            New contents (text, bytes, or a file to copy) by path relative to the
            model's folder; None removes a file.
        is_kept
            Whether to keep the change although the block raised.

        Raises
        ------
        RepositoryError
            A path leads out of the folder, a file to copy is missing, or writing
            fails.
        """
        directory = self.private(name)
        derived: Derived | None = None
        # Settled twice: the first time may be interrupted.
        try:
            try:
                derived = self._derived(name)
                base = None if derived is None else derived.base
                with Change(directory.path, files, base).made(is_kept):
                    yield directory
            finally:
                self.derivations.settle(name, derived, files)
        finally:
            self.derivations.settle(name, derived, files)

    def _derived(self, name: str) -> Derived | None:
        """Return what a private model is made from, copying it the first time."""
        if self.private(name).path.is_dir():
            return self.derivations.get(name)
        original = self.directory(name)
        if original is None:
            return None
        return self.derivations.derive(name, original.path)

    def close(self) -> None:
        """Remove the private folder, unless this is a child of the creating process."""
        self._held.close()


def _listed(roots: Roots) -> Sequence[str | Path]:
    if roots is None:
        return ()
    return (roots,) if isinstance(roots, str | os.PathLike) else roots


def _folder(root: str | Path) -> Path:
    try:
        folder = path_of(path=root)
    except OSError:
        folder = None
    if folder is None or not os.path.isdir(folder):
        there = folder is not None and os.path.exists(folder)
        reason = "it is a file" if there else "it does not exist"
        raise RepositoryError(
            f"{str(root)!r} is not a folder of models: {reason}; expected a folder "
            "that has a folder for each model"
        )
    if not os.access(folder, os.R_OK):
        raise RepositoryError(f"{str(root)!r} cannot be read: permission denied")
    # Deferred: a server without folders of the user exports nothing.
    from blsnb.repository.copying import complete_exports
    from blsnb.repository.imported.in_place import complete_unlocked

    folder = folder.resolve()
    complete_exports(folder)
    complete_unlocked(folder)
    return folder


def models_in(root: Path) -> list[str]:
    """Return the names of a folder's models; none if the folder is gone."""
    return [entry.name for entry in folders_in(root) if _is_name(entry.name)]


def _is_name(name: str) -> bool:
    """Whether a folder of this name is a model: not hidden, and valid UTF-8."""
    is_utf8 = name.isascii() or not re.search(_SURROGATES, name)
    is_name = is_utf8 and bool(re.fullmatch(_NAME, name))
    return is_name and len(name.encode()) <= _MAX_NAME
