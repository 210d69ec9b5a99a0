"""Decide which models of a followed folder to load: from its files and the time."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from blsnb.repository.directory import Files, Stamp, sources, version_number

LOOK_PERIOD_NS = 100_000_000
"""Minimum time between two looks while requests run, in nanoseconds."""
_MAX_SHARE = 20
"""A look that takes t is followed by a pause of at least this many times t."""
_IGNORED = re.compile(r"(^|/)(\.[^/]*|__pycache__|[^/]*~|#[^/]*#)(/|$)")
"""Files that Python and editors write for themselves."""


class LookClock:
    """Decides when the next look at a folder is due while requests run."""

    def __init__(self) -> None:
        self._due_ns = 0

    def is_due(self, now_ns: int) -> bool:
        """Whether to look now."""
        return now_ns >= self._due_ns

    def note(self, start_ns: int, end_ns: int) -> None:
        """Note a look, which costs requests at most a twentieth of their time."""
        self._due_ns = end_ns + max(LOOK_PERIOD_NS, _MAX_SHARE * (end_ns - start_ns))


class Look(NamedTuple):
    """What a look at a followed folder found."""

    due: tuple[str, ...] = ()
    """Models that are new or were saved, and are complete."""
    gone: tuple[str, ...] = ()
    """Models whose folders were removed."""
    unsettled: tuple[str, ...] = ()
    """Models that differ from what was loaded and from the look before."""
    unreadable: tuple[str, ...] = ()
    """Models whose folders can no longer be read."""


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

    def look(self, folders: Mapping[str, Files]) -> Look:
        """Return what to do, given the files of each model; none if unreadable."""
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
        gone = [name for name in missing if self._models[name].is_gone()]
        unsettled = sorted([*unsettled, *(set(missing) - set(gone))])
        return Look(tuple(due), tuple(gone), tuple(unsettled), tuple(unreadable))

    def _model(self, name: str) -> _FollowedModel:
        if name not in self._models:
            self._models[name] = _FollowedModel({}, False)
        return self._models[name]

    def note_load(
        self, name: str, before: Files, after: Files, is_serving: bool
    ) -> None:
        """Note that a model was loaded, or need not be.

        Parameters
        ----------
        before, after
            Its files before and after the load.
        is_serving
            Whether it serves these files: then a new file that is no source is no
            reason to load it again, since models write files, too.
        """
        model = self._model(name)
        model.note_load(before, after, is_serving)

    def note_written(self, name: str, files: Files, paths: Collection[str]) -> None:
        """Note that files of a model were written from here.

        Parameters
        ----------
        files
            The files of the model.
        paths
            Those that were written or removed.
        """
        self._model(name).note_written(files, paths)

    def note_gone(self, name: str) -> None:
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
        # Unless `note_load` follows, as after Ctrl-C, the next look finds it due again.
        self._seen = None if due else files
        return due

    def is_gone(self) -> bool:
        """Whether this is the second look in a row that finds no folder."""
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
        own = {**{path: found[path] for path in self._known & found.keys()}}
        versions = {path: found[path] for path in found if _is_version(path)}
        return {**own, **versions, **sources(found)}


def followed(files: Files) -> dict[str, Stamp]:
    """Return the files that people write; of folders, only that they exist."""
    return {
        path: Stamp(0, 0) if path.endswith("/") else stamp
        for path, stamp in files.items()
        if path and not _IGNORED.search(path)
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
        """Whether the last look found other files than those loaded."""
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
        """Note that these files were written without a load; their folders, too."""
        for path in paths:
            self._loaded.pop(path, None)
        inner = tuple(paths)
        for path, stamp in files.items():
            is_above = path.endswith("/") and any(p.startswith(path) for p in inner)
            if path in paths or is_above:
                self._loaded[path] = stamp

    def note_load(self, before: Files, after: Files) -> None:
        """Note that a load was tried, whether it succeeded or not.

        Parameters
        ----------
        before, after
            The files before and after the load. Files that the model wrote during the
            load do not cause another load; a source that was saved does.
        """
        written = {p: after[p] for p in after.keys() - sources(after).keys()}
        self._loaded = {**written, **sources(before)}
        self._last = None
