"""Write the changes of cells to the user's folders: all files or none."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from blsnb.errors import RepositoryError
from blsnb.files.owned import locked, remove, sweep, unique
from blsnb.files.swap import OLD, Swap, put_back
from blsnb.files.whole import whole_file
from blsnb.repository.imported.derived import Content, Edit
from blsnb.repository.manifest import digest_of

JOURNAL = ".blsnb-in-place.json"
"""Journal of an unfinished export in place, in the repository."""
_STAGED = ".blsnb-"
STAGED_NAME = r"\.blsnb-[0-9a-f]{16}"
_LOCK_TIMEOUT_S = 30.0


@dataclass(slots=True)
class _Step:
    """The replacement of one file; paths are relative to the repository."""

    target: str
    staged: str
    old: str | None
    """Digest of the file to replace; None for a new file."""
    new: str | None
    """Digest of the new file; None to remove it."""


@dataclass(slots=True)
class _Plan:
    """The journal of an export in place."""

    steps: list[_Step] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    """Folders that it creates, outer ones first."""
    is_staged: bool = False
    """Whether every new file is staged: the export is then completed, not undone."""


class InPlaceExport:
    """Writes edits into the files of one model repository.

    All new files are staged beside the old ones before the first is replaced. The next
    import or export completes or undoes a killed export.

    Parameters
    ----------
    root
        The user's repository.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._plan = _Plan()
        self._swaps: list[Swap] = []

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Lock the repository against other exports; complete a killed one."""
        with locked(self._root, _LOCK_TIMEOUT_S):
            complete(self._root)
            yield

    def stage(self, edits: Sequence[Edit]) -> None:
        """Stage the new files beside the old ones.

        Raises
        ------
        OSError
            A file cannot be written.
        RepositoryError
            A file is a link to a place outside of the repository.
        """
        wanted = [(self._target(edit.folder), edit.written) for edit in edits]
        for target, content in wanted:
            self._plan_step(target, content)
        self._save()
        for folder in self._plan.folders:
            (self._root / folder).mkdir()
        for (target, content), step in zip(wanted, self._plan.steps, strict=True):
            if content is not None:
                step.new = _fill(self._root / step.staged, content, target)
        self._plan.is_staged = True
        self._save()

    def apply(self) -> None:
        """Replace the files.

        Raises
        ------
        OSError
            A file cannot be replaced; the others are restored by `undo`.
        """
        for step in self._plan.steps:
            target, staged = self._root / step.target, self._root / step.staged
            is_removal = step.new is None
            swap = Swap(target, staged) if is_removal else Swap(staged, target)
            self._swaps.append(swap)
            swap.apply()

    def undo(self) -> None:
        """Restore the old files and remove the staged ones."""
        for swap in reversed(self._swaps):
            swap.undo()
        self._swaps = []
        self._remove_staged()
        for folder in reversed(self._plan.folders):
            with contextlib.suppress(OSError):
                (self._root / folder).rmdir()
        self._remove_journal()

    def finish(self) -> None:
        """Remove the old files and the journal."""
        self._remove_staged()
        self._remove_journal()

    def _remove_staged(self) -> None:
        for step in self._plan.steps:
            for path in _leftovers(self._root / step.staged):
                remove(path)

    def _remove_journal(self) -> None:
        with contextlib.suppress(OSError):
            (self._root / JOURNAL).unlink()

    def _target(self, file: Path) -> Path:
        """Return the file that a path refers to, through links in the repository."""
        real = Path(os.path.realpath(file))
        if not real.is_relative_to(self._root):
            raise RepositoryError(
                f"{file} is a link out of {self._root}, to {real}; nothing was written"
            )
        return real

    def _plan_step(self, target: Path, content: Content) -> None:
        old = digest_of(target) if os.path.lexists(target) else None
        missing = [each for each in target.parents if not each.exists()]
        for folder in reversed(missing):
            inner = str(folder.relative_to(self._root))
            if inner not in self._plan.folders:
                self._plan.folders.append(inner)
        staged = unique(target.parent, _STAGED)
        inner, beside = (str(each.relative_to(self._root)) for each in (target, staged))
        if any(step.target == inner for step in self._plan.steps):
            raise RepositoryError(
                f"{target} is a link shared by two changed models; nothing was written"
            )
        new = None if content is None else ""
        self._plan.steps.append(_Step(inner, beside, old, new))

    def _save(self) -> None:
        with whole_file(self._root / JOURNAL) as partial:
            partial.write_text(json.dumps(asdict(self._plan)), encoding="utf-8")
            _sync(partial)


def complete(root: Path) -> None:
    """Complete or undo an export in place that was killed; the caller holds the lock.

    A file that was changed since then is not touched.
    """
    sweep(root, f"{JOURNAL}.blsnb-")
    plan = _read(root)
    if plan is None:
        return
    for step in plan.steps:
        target, staged = root / step.target, root / step.staged
        put_back(_leftovers(staged)[1], target.parent)
        if plan.is_staged and _digest(target) == step.old:
            if step.new is None:
                target.unlink(missing_ok=True)
            elif _digest(staged) == step.new:
                os.replace(staged, target)
        for path in _leftovers(staged):
            remove(path)
    for folder in reversed(plan.folders):
        # Only empty folders are removed.
        with contextlib.suppress(OSError):
            (root / folder).rmdir()
    (root / JOURNAL).unlink(missing_ok=True)


def _leftovers(staged: Path) -> tuple[Path, Path]:
    """Return the paths of the staged file and of the old file during a swap."""
    return staged, staged.with_name(staged.name + OLD)


def complete_unlocked(root: Path) -> None:
    """Complete or undo a killed export in place, unless one is running."""
    with contextlib.suppress(OSError), locked(root, 0) as is_locked:
        if is_locked:
            complete(root)


def _read(root: Path) -> _Plan | None:
    """Return the plan of a journal; None if it is missing or invalid."""
    try:
        document = json.loads((root / JOURNAL).read_text(encoding="utf-8"))
        steps = [_Step(**each) for each in document["steps"]]
        plan = _Plan(steps, list(document["folders"]), bool(document["is_staged"]))
        return plan if _is_sound(root, plan) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _is_sound(root: Path, plan: _Plan) -> bool:
    """Whether a plan stays in the repository: the journal is untrusted input."""
    inner = (step.target for step in plan.steps)
    return all(_is_inside(root, path) for path in (*inner, *plan.folders)) and all(
        (root / step.target).parent == (root / step.staged).parent
        and re.fullmatch(STAGED_NAME, Path(step.staged).name)
        for step in plan.steps
    )


def _is_inside(root: Path, path: str) -> bool:
    """Whether a path is in the repository, and goes through no link."""
    real = Path(os.path.realpath(root / path))
    return real == root / path and real.is_relative_to(root)


def _fill(staged: Path, content: bytes | Path, target: Path) -> str:
    """Write a new file with the mode of the old one, and return its digest."""
    if isinstance(content, Path):
        shutil.copyfile(content, staged)
    else:
        staged.write_bytes(content)
    with contextlib.suppress(FileNotFoundError):
        shutil.copymode(target, staged)
    _sync(staged)
    return digest_of(staged)


def _sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _digest(file: Path) -> str | None:
    try:
        return digest_of(file)
    except OSError:
        return None
