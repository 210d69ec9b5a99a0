"""Reload the models of followed folders after their files were saved."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.model_log import NoteWriter
from blsnb.errors import BlsnbError
from blsnb.files.interrupts import uninterrupted
from blsnb.parts.models import Models
from blsnb.parts.readers import Readers
from blsnb.repository.directory import Files

if TYPE_CHECKING:
    from blsnb.repository.imported.folder_scan import FolderScan
    from blsnb.repository.imported.following import Follower, PollClock

_PAUSE_S = 0.05
"""Time between two polls of changing files, in seconds."""
_MAX_POLLS = 20
"""Maximum number of polls of changing files; requests then use the old version."""


class FollowedChange(NamedTuple):
    """Result of a load or unload of a model in a followed folder."""

    name: str
    text: str
    """Description; empty if the model was loaded."""
    failed: bool
    """Whether the load failed; a previous version still serves."""


Report = Callable[[FollowedChange], None]


class _Folder:
    """A followed folder."""

    def __init__(self, scan: FolderScan, follower: Follower) -> None:
        self.scan = scan
        self.follower = follower
        self.is_missing = False


class Following:
    """Loads the models of followed folders whose files were saved.

    Folders are polled at the start of a cell, and at most every 100 ms when a request
    starts. Without followed folders requests have no extra cost.

    Parameters
    ----------
    models
        Describes the models and their load errors.
    readers
        Calls `poll_if_due` before each request once a folder is followed.
    note
        Receives notes about models if `report` is None.
    """

    def __init__(self, models: Models, readers: Readers, note: NoteWriter) -> None:
        self._models = models
        self._readers = readers
        self._note = note
        self._folders: dict[Path, _Folder] = {}
        self._polling = threading.Lock()
        self._stale: set[str] = set()
        """Models with a file that was changed by a cell and by the user."""
        self.report: Report | None = None
        """Receives each outcome, on the thread of the cell or request."""

    @cached_property
    def _clock(self) -> PollClock:
        # Deferred: few servers follow folders.
        from blsnb.repository.imported.following import PollClock

        return PollClock()

    def scan(self, root: Path, names: Collection[str] | None) -> FolderScan:
        """Return a scan of a folder, made before its models are loaded.

        Parameters
        ----------
        names
            Names of the models to follow; None for all, new ones included.
        """
        # Deferred: see `_clock`.
        from blsnb.repository.imported.folder_scan import FolderScan

        known = self._folders.get(root)
        if known is not None and names is not None:
            earlier = known.scan.names
            names = None if earlier is None else {*earlier, *names}
        made = FolderScan(root, names)
        made.read()
        return made

    def follow(self, scan: FolderScan) -> None:
        """Follow a folder whose models have been loaded after a scan."""
        # Deferred: see `_clock`.
        from blsnb.repository.imported.following import Follower

        before, after = scan.files, scan.read() or {}
        serving = frozenset(
            name for name in before if self._models.control.sources.files(name)
        )
        follower = Follower(before, serving)
        for name in before.keys() & after.keys():
            follower.note_load(name, before[name], after[name], name in serving)
        self._folders[scan.root] = _Folder(scan, follower)
        self._readers.before_request = self.poll_if_due

    def unfollow(self, root: Path) -> None:
        """Stop following a folder, if it is followed."""
        self._folders.pop(root, None)
        if not self._folders:
            self._readers.before_request = None

    def poll_if_due(self) -> None:
        """Poll the followed folders if the last poll is long enough ago."""
        if self._clock.is_due(CLOCK.now_ns()):
            self.poll()

    def poll(self) -> None:
        """Poll the followed folders; load saved models and report the outcome.

        Requests during a load use the versions that serve, because the load may wait
        for them.
        """
        if self._folders and not self._models.control.is_busy:
            # Ctrl-C between a lock and its release would end all later polls.
            uninterrupted(self._poll_once)

    def _poll_once(self) -> None:
        if not self._polling.acquire(blocking=False):
            return
        try:
            for folder in list(self._folders.values()):
                self._poll_folder(folder)
        finally:
            self._polling.release()

    def _poll_folder(self, folder: _Folder) -> None:
        unsettled: tuple[str, ...] = ()
        for attempt in range(_MAX_POLLS):
            if attempt:
                time.sleep(_PAUSE_S)
            start_ns = CLOCK.now_ns()
            files = folder.scan.read()
            self._clock.note(start_ns, CLOCK.now_ns())
            if files is None:
                self._note_missing_folder(folder)
                return
            folder.is_missing = False
            unsettled = self._apply(folder, files)
            if not unsettled:
                return
        for name in unsettled:
            self._report(name, f"{name} is still being written in {folder.scan.root}")

    def _apply(self, folder: _Folder, files: dict[str, Files]) -> tuple[str, ...]:
        """Load and unload models; return those whose files are still changing."""
        root = folder.scan.root
        self._settle_stale(root)
        changes = folder.follower.poll(files)
        for name in changes.removed:
            self._unload_removed(name, root)
            folder.follower.note_removed(name)
        for name in changes.unreadable:
            self._report(name, f"{root / name} cannot be read")
        for name in changes.due:
            is_serving = self._load(name, root, files[name])
            after = folder.scan.read() or {}
            folder.follower.note_load(
                name, files[name], after.get(name, files[name]), is_serving
            )
        return changes.unsettled

    def _note_missing_folder(self, folder: _Folder) -> None:
        if not folder.is_missing:
            folder.is_missing = True
            root = folder.scan.root
            self._report("", f"{root} is missing or unreadable; its models still serve")

    def _unload_removed(self, name: str, root: Path) -> None:
        repository = self._models.repository
        other = repository.directory(name)
        if other is not None and other.path.parent == repository.private_root:
            self._report(
                name, f"{name} was removed from {root}; the text of a cell still serves"
            )
        elif other is not None:
            self._loaded(name)
        elif self._models.control.sources.files(name):
            self._models.forget(name)
            text = f"{name} was unloaded: its folder was removed from {root}"
            self._report(name, text)

    def _load(self, name: str, root: Path, files: Files) -> bool:
        """Load a saved model, and return whether it serves from these files."""
        # Deferred: see `_clock`.
        from blsnb.repository.imported.following import followed

        directory = self._models.repository.directory(name)
        if directory is None:
            self._report(name, self._models.repository.why_none(name)[1], failed=True)
            return False
        if directory.path.parent == self._models.repository.private_root:
            return self._load_changed_by_cells(name, root)
        if followed(self._models.control.sources.files(name)) == followed(files):
            # It has been loaded by name.
            return True
        if self._models.engine.catalog.is_unloaded(name):
            return False
        return self._loaded(name)

    def _load_changed_by_cells(self, name: str, root: Path) -> bool:
        """Load a saved model with a private copy that cells may have changed.

        Files that a cell changed are kept; others are taken from the folder.
        """
        derived = self._models.repository.derivations.get(name)
        if derived is None or derived.folder != root / name:
            self._report(
                name, f"{name} was saved in {root}, but a cell's own text serves"
            )
            return True
        edits = {edit.path: edit for edit in derived.edits()}
        if not edits:
            return self._tried(name, lambda: self._release(name))
        changed = derived.changed_paths()
        stale = [path for path in changed if path in edits and edits[path].is_stale]
        for path in stale:
            self._stale.add(name)
            text = f"{name}/{path} was saved in {root}, but a cell also changed it"
            self._report(name, f"{text}, and serves: %triton diff {name}")
        agreed = [path for path in changed if path not in stale]
        files = {
            path: file if (file := derived.folder / path).is_file() else None
            for path in agreed
            if path not in edits
        }
        change = partial(self._models.change, name, files)
        is_serving = not files or self._tried(name, change)
        if is_serving:
            derived.rebase(agreed)
        return is_serving

    def _settle_stale(self, root: Path) -> None:
        """Load saved files once they no longer conflict with a cell."""
        for name in list(self._stale):
            derived = self._models.repository.derivations.get(name)
            if derived is None or derived.folder != root / name:
                continue
            if not any(edit.is_stale for edit in derived.edits()):
                self._stale.discard(name)
                if derived.changed_paths():
                    self._load_changed_by_cells(name, root)

    def note_written(self, name: str, folder: Path, paths: Collection[str]) -> None:
        """Note that blsnb wrote files of a user's folder."""
        followed_folder = self._folders.get(folder.parent)
        if followed_folder is not None:
            files = (followed_folder.scan.read() or {}).get(name, {})
            followed_folder.follower.note_written(name, files, paths)

    def note_exported(self, root: Path, names: Collection[str]) -> None:
        """Note that blsnb wrote whole models into a folder, where none needs a load."""
        folder = self._folders.get(root)
        if folder is not None:
            files = folder.scan.read() or {}
            for name in files.keys() & names:
                folder.follower.note_load(name, files[name], files[name], True)

    def _loaded(self, name: str) -> bool:
        control = self._models.control
        return self._tried(name, lambda: control.bring_up(name, always=True))

    def _release(self, name: str) -> None:
        """Load a model from its folder, and remove the private copy."""

        def load() -> bool:
            self._models.control.bring_up(name, always=True)
            return True

        self._models.repository.release(name, load)

    def _tried(self, name: str, load: Callable[[], object]) -> bool:
        """Load a model, report the outcome, and return whether it serves."""
        try:
            uninterrupted(load)
        except (BlsnbError, OSError) as error:
            self._models.note_unloadable(name, error)
            self._report(name, _reason(error), failed=True)
            return False
        self._models.note_unloadable(name, None)
        self._report(name, "")
        return True

    def _report(self, name: str, text: str, *, failed: bool = False) -> None:
        outcome = FollowedChange(name, text, failed)
        if self.report is not None:
            self.report(outcome)
        elif failed:
            text = f"{name} did not load after a change: {text}"
            self._note(name, "ERROR", text)
        else:
            self._note(name, "INFO", text or f"{name} was reloaded")


def _reason(error: BaseException) -> str:
    """Return why a load failed; add the path, which Triton's syntax errors lack."""
    reason = (getattr(error, "reason", "") or str(error)).strip()
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, SyntaxError):
        cause = cause.__cause__ or cause.__context__
    if cause is None or not cause.filename:
        return reason
    return f'{reason}\n  File "{cause.filename}", line {cause.lineno}'
