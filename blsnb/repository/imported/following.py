"""Decide which models of a followed folder to load or unload, in pure code."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from blsnb.repository.directory import Files, FileStamp, sources, version_number

POLL_PERIOD_NS = 100_000_000
"""Minimum time between two polls while requests run, in nanoseconds."""
_PAUSE_RATIO = 20
"""Minimum ratio of the pause after a poll to the duration of the poll."""
_IGNORED = r"(^|/)(\.[^/]*|__pycache__|[^/]*~|#[^/]*#)(/|$)"
"""Temporary files of Python and editors."""


class PollClock:
    """Decides when the next poll of folders is due while requests run."""

    def __init__(self) -> None:
        self._due_ns = 0

    def is_due(self, now_ns: int) -> bool:
        """Whether to poll now."""
        return now_ns >= self._due_ns

    def note(self, start_ns: int, end_ns: int) -> None:
        """Note a poll: polls take at most a twentieth of the time of requests."""
        self._due_ns = end_ns + max(POLL_PERIOD_NS, _PAUSE_RATIO * (end_ns - start_ns))


class FolderChanges(NamedTuple):
    """Changes in a followed folder, found by a poll."""

    due: tuple[str, ...] = ()
    """Models to load: new or saved, and complete."""
    removed: tuple[str, ...] = ()
    """Models whose folders were removed."""
    unsettled: tuple[str, ...] = ()
    """Models whose files are still changing."""
    unreadable: tuple[str, ...] = ()
    """Models whose folders have become unreadable."""


class Follower:
    """Decides which models of a followed folder to load, and which to unload.

    Parameters
    ----------
    loaded
        The files of each model, as they were before it was loaded.
    serving
        The models that loaded.
    """

    def __init__(self, loaded: Mapping[str, Files], serving: frozenset[str]) -> None:
        self._models = {
            name: _FollowedModel(loaded[name], name in serving) for name in loaded
        }

    def poll(self, folders: Mapping[str, Files]) -> FolderChanges:
        """Return the changes, given the files of each model; empty if unreadable."""
        due, unsettled, unreadable = [], [], []
        for name in sorted(folders):
            model = self._model(name)
            if not folders[name]:
                if model.is_newly_unreadable():
                    unreadable.append(name)
            elif model.is_due(folders[name]):
                due.append(name)
            elif model.is_unsettled:
                unsettled.append(name)
        missing = sorted(self._models.keys() - folders.keys())
        removed = [name for name in missing if self._models[name].is_removed()]
        unsettled = sorted([*unsettled, *(set(missing) - set(removed))])
        return FolderChanges(
            tuple(due), tuple(removed), tuple(unsettled), tuple(unreadable)
        )

    def _model(self, name: str) -> _FollowedModel:
        if name not in self._models:
            self._models[name] = _FollowedModel({}, False)
        return self._models[name]

    def note_load(
        self, name: str, before: Files, after: Files, is_serving: bool
    ) -> None:
        """Note that a model was loaded, or needs no load.

        Parameters
        ----------
        before, after
            Its files before and after the load.
        is_serving
            Whether it serves these files. If so, a new file causes a load only if it is
            a source, because models also write files.
        """
        self._model(name).note_load(before, after, is_serving)

    def note_written(self, name: str, files: Files, paths: Collection[str]) -> None:
        """Note that blsnb wrote files of a model.

        Parameters
        ----------
        files
            The files of the model.
        paths
            Those that were written or removed.
        """
        self._model(name).note_written(files, paths)

    def note_removed(self, name: str) -> None:
        """Note that a model was unloaded because its folder was removed."""
        self._models.pop(name, None)


class _FollowedModel:
    """A model of a followed folder.

    Parameters
    ----------
    files
        The files from which it was loaded.
    is_serving
        Whether the load succeeded.
    """

    def __init__(self, files: Files, is_serving: bool) -> None:
        self.is_unsettled = False
        self._seen: Files | None = None
        self._is_missing = False
        self._is_unreadable = False
        self.note_load(files, files, is_serving)

    def note_load(self, before: Files, after: Files, is_serving: bool) -> None:
        self._known = frozenset(followed(before)) if is_serving else None
        self._detector = SaveDetector(self._followed(before))
        self._detector.note_load(self._followed(before), self._followed(after))
        self._seen, self.is_unsettled = after if before is after else None, False

    def note_written(self, files: Files, paths: Collection[str]) -> None:
        if self._known is not None:
            self._known |= {path for path in paths if path in files}
        self._detector.note_written(self._followed(files), paths)
        self._seen = None

    def is_due(self, files: Files) -> bool:
        self._is_missing = self._is_unreadable = False
        if files is self._seen and not self.is_unsettled:
            # A scan returns the same object while nothing changes.
            return False
        now = self._followed(files)
        due = self._detector.is_due(now)
        self.is_unsettled = not due and self._detector.is_changed
        # Unless `note_load` follows, as after Ctrl-C, the next poll finds it due again.
        self._seen = None if due else files
        return due

    def is_removed(self) -> bool:
        """Whether the folder is missing in two successive polls."""
        was_missing, self._is_missing = self._is_missing, True
        return was_missing

    def is_newly_unreadable(self) -> bool:
        was_unreadable, self._is_unreadable = self._is_unreadable, True
        return not was_unreadable

    def _followed(self, files: Files) -> Files:
        """Return the files whose changes matter."""
        found = followed(files)
        if self._known is None:
            return found
        return {
            path: stamp
            for path, stamp in found.items()
            if path in self._known or _is_version(path)
        } | sources(found)


def followed(files: Files) -> dict[str, FileStamp]:
    """Return the files that users write; folders without their times."""
    return {
        path: FileStamp(0, 0) if path.endswith("/") else stamp
        for path, stamp in files.items()
        if path and not re.search(_IGNORED, path)
    }


def _is_version(path: str) -> bool:
    """Whether a path is the folder of a version."""
    folder, slash, rest = path.partition("/")
    return bool(slash) and not rest and version_number(folder) is not None


class SaveDetector:
    """Detects when the files of a watched model were saved and are complete.

    An editor may write a file in steps, and several files one after another. A model is
    due when its files have changed and two successive polls find the same files.

    Parameters
    ----------
    loaded
        The files from which the model was loaded.
    """

    def __init__(self, loaded: Files) -> None:
        self._loaded = dict(loaded)
        self._last: Files | None = None

    @property
    def is_changed(self) -> bool:
        """Whether the last poll found other files than those loaded."""
        return self._last is not None

    def is_due(self, files: Files) -> bool:
        """Whether to load the model, given its files now."""
        if files == self._loaded:
            self._last = None
            return False
        is_still = files == self._last
        self._last = files
        return is_still

    def note_written(self, files: Files, paths: Collection[str]) -> None:
        """Note that these files and their folders were written without a load."""
        for path in paths:
            self._loaded.pop(path, None)
        inner = tuple(paths)
        for path, stamp in files.items():
            is_above = path.endswith("/") and any(p.startswith(path) for p in inner)
            if path in paths or is_above:
                self._loaded[path] = stamp

    def note_load(self, before: Files, after: Files) -> None:
        """Note that a load succeeded or failed.

        Parameters
        ----------
        before, after
            The files before and after the load. Files that the model wrote during the
            load do not cause another load; a source that was saved does.
        """
        written = {p: after[p] for p in after.keys() - sources(after).keys()}
        self._loaded = {**written, **sources(before)}
        self._last = None
