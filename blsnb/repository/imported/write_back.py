"""Write the changes of cells back to the user's folders: all models or none."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from blsnb.errors import RepositoryError
from blsnb.repository.imported.derived import Derived, Edit
from blsnb.repository.imported.in_place import (
    JOURNAL,
    STAGED_NAME,
    InPlaceExport,
)


class ChangedModel(NamedTuple):
    """A model of a user's folder that was changed by cells."""

    name: str
    cell: str
    """Origin of its text, such as ``"cell In[3]"``."""
    derived: Derived
    edits: list[Edit]

    def difference(self) -> list[str]:
        """Return the lines of the difference from the folder to the cells."""
        shown = (edit.difference(self.name, self.cell) for edit in self.edits)
        return [line for lines in shown for line in lines]

    def stale(self) -> list[Edit]:
        """Return the edits of files that also changed in the folder."""
        return [edit for edit in self.edits if edit.is_stale]


def write_back(models: Sequence[ChangedModel], *, force: bool = False) -> None:
    """Write all edits of models into the user's folders, or none.

    Parameters
    ----------
    force
        Whether to overwrite files that also changed in the folder.

    Raises
    ------
    RepositoryError
        A file also changed in the folder, cannot be written, or is a link to a place
        outside of the repository; nothing was written.
    """
    by_root: dict[Path, list[Edit]] = {}
    for model in models:
        by_root.setdefault(model.derived.folder.parent, []).extend(model.edits)
    exports = {root: InPlaceExport(root) for root in by_root}
    try:
        with contextlib.ExitStack() as held:
            for export in exports.values():
                held.enter_context(export.held())
            _write([(exports[root], by_root[root]) for root in exports], models, force)
    except OSError as error:
        raise _failed(error) from error
    for model in models:
        model.derived.rebase(edit.path for edit in model.edits)


def _write(
    exports: Sequence[tuple[InPlaceExport, list[Edit]]],
    models: Sequence[ChangedModel],
    force: bool,
) -> None:
    try:
        for export, edits in exports:
            if not force:
                _refuse_stale(models)
            export.stage(edits)
        if not force:
            _refuse_stale(models)
        for export, _ in exports:
            export.apply()
    except BaseException:
        for export, _ in exports:
            export.undo()
        raise
    for export, _ in exports:
        export.finish()


def _refuse_stale(models: Sequence[ChangedModel]) -> None:
    stale = [(model, edit) for model in models for edit in model.stale()]
    if not stale:
        return
    paths = ", ".join(f"{model.name}/{edit.path}" for model, edit in stale)
    folders = " and ".join(
        dict.fromkeys(str(m.derived.folder.parent) for m, _ in stale)
    )
    lines = [line for m, edit in stale for line in edit.three_way(m.name, m.cell)]
    raise RepositoryError(
        f"{paths} changed in {folders} after a cell was made from it. Nothing was "
        "written. Bring both changes into the cell and run it, then overwrite the "
        "folder with --force (force=True).\n\n" + "\n".join(lines)
    )


def _failed(error: OSError) -> RepositoryError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    what = "the disk is full" if full else _without_staged(error)
    return RepositoryError(f"{what}; nothing was written")


def _without_staged(error: OSError) -> str:
    """Return an error's text; name the folder instead of a staged file."""
    found = Path(os.fsdecode(error.filename or ""))
    if re.fullmatch(STAGED_NAME, found.name) or found.name.endswith(JOURNAL):
        return f"{found.parent} cannot be written: {error.strerror}"
    return str(error)
