"""Private copies of a user's models, by name."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.errors import RepositoryError
from blsnb.files.owned import remove
from blsnb.repository.directory import ModelDirectory

if TYPE_CHECKING:
    from blsnb.repository.imported.derived import Derived

_BASES = ".blsnb-bases"
_TRIES = 3


class Derivations:
    """Private copies of users' models, by name.

    Parameters
    ----------
    private_root
        The folder of the private models.
    """

    def __init__(self, private_root: Path) -> None:
        self._root = private_root
        self._made: dict[str, Derived] = {}

    def get(self, name: str) -> Derived | None:
        """Return the origin of a private model; None if cells alone define it."""
        return self._made.get(name)

    def names(self) -> list[str]:
        """Return the names of the models, sorted."""
        return sorted(self._made)

    def derive(self, name: str, folder: Path) -> Derived:
        """Copy a user's folder; `settle` keeps or removes the copy.

        Raises
        ------
        RepositoryError
            A file cannot be read, or the folder keeps changing.
        """
        # Deferred: few cells change the model of a folder.
        from blsnb.repository.imported.derived import Derived
        from blsnb.repository.imported.following import followed

        base = self._root / _BASES / name
        base.parent.mkdir(exist_ok=True)
        for _ in range(_TRIES):
            remove(base)
            before = ModelDirectory(folder).files()
            try:
                _copy(folder, base)
            except OSError as error:
                raise RepositoryError(f"{folder} cannot be copied: {error}") from error
            if followed(ModelDirectory(folder).files()) == followed(before):
                return Derived(folder, self._root / name, base, before)
        raise RepositoryError(f"{folder} is being written; try again")

    def settle(
        self, name: str, derived: Derived | None = None, touched: Iterable[str] = ()
    ) -> None:
        """Note the files that a cell wrote, or remove the unused copy.

        Parameters
        ----------
        derived
            What `derive` returned; None if it was interrupted.
        touched
            The files.
        """
        is_there = os.path.isdir(self._root / name)
        if derived is not None and is_there:
            derived.touched.update(touched)
            self._made[name] = derived
        if name in self._made and is_there:
            return
        self._made.pop(name, None)
        bases = self._root / _BASES
        if bases.is_dir():
            remove(bases / name)
            with contextlib.suppress(OSError):
                bases.rmdir()


def _copy(folder: Path, copy: Path) -> None:
    # Deferred: see `derive`.
    from blsnb.repository.copying import contents

    # The copy has default modes, because the user's folders may be read-only.
    copy.mkdir()
    for inner, source in contents(folder).items():
        path = copy / inner
        path.mkdir() if source.is_dir() else shutil.copy2(source, path)
