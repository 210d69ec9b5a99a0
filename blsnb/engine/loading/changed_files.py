"""Reload models when files of their folders change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from blsnb.engine.loading.control import ModelControl
from blsnb.engine.model_log import NoteWriter
from blsnb.engine.threads.watcher import Watcher
from blsnb.errors import BlsnbError, ModelLoadError
from blsnb.pb_utils.logger import server_event
from blsnb.repository.directory import Files, sources
from blsnb.repository.repository import ModelRepository

if TYPE_CHECKING:
    from blsnb.repository.imported.following import SaveDetector

_WATCH_PAUSE_S = 0.25
_WATCH_THREAD = "blsnb watch"


class ChangedFiles:
    """Polls the folders of models, and loads what is new there.

    A load that fails is logged; the former versions still serve.

    Parameters
    ----------
    control
        Loads and unloads.
    repository
        The models' folders.
    note
        Receives notes about models.
    """

    def __init__(
        self, control: ModelControl, repository: ModelRepository, note: NoteWriter
    ) -> None:
        self._control = control
        self._repository = repository
        self._note = note
        self._lock = threading.Lock()
        """Held while watched models and watchers are changed."""
        self._watched: dict[str, SaveDetector] = {}
        self._tried: dict[str, Files] = {}
        """Sources of private models for which a load was tried."""
        self._watchers: list[Watcher] = []

    def watch(self, name: str) -> None:
        """Reload a model whenever a file of its folder is saved."""
        # Deferred: few models are watched.
        from blsnb.repository.imported.following import SaveDetector

        loaded = self._control.sources.files(name)
        detector = SaveDetector(loaded)
        directory = self._repository.directory(name)
        if directory is not None:
            # Files that the model wrote during its load do not count as saved.
            detector.note_load(loaded, directory.files())
        with self._lock:
            if not any(watcher.name == _WATCH_THREAD for watcher in self._watchers):
                self._start(self.look, _WATCH_PAUSE_S, _WATCH_THREAD)
            self._watched.setdefault(name, detector)

    def unwatch(self, name: str) -> None:
        """Stop watching a model, if it is watched."""
        with self._lock:
            self._watched.pop(name, None)

    def watched(self) -> list[str]:
        """Return the names of the watched models, sorted."""
        return sorted(self._watched)

    def poll(self, pause_s: float) -> None:
        """Load and unload models with the repository from now on, as mode ``poll``."""
        self._start(self.poll_once, pause_s, "blsnb poll")

    def _start(self, look: Callable[[], None], pause_s: float, name: str) -> None:
        watcher = Watcher(look, pause_s, name)
        watcher.start()
        self._watchers.append(watcher)

    def look(self) -> None:
        """Load the watched models whose files were saved."""
        for name, detector in self._watched.copy().items():
            directory = self._repository.directory(name)
            if directory is None:
                continue
            before = directory.files()
            if detector.is_due(before):
                self._load(name)
                detector.note_load(before, directory.files())

    def poll_once(self) -> None:
        """Load models that are new or newer, and unload those that are gone.

        A load that failed is tried again each time, as on Triton.
        """
        names = set(self._repository.names())
        for name in self._control.serving():
            if name not in names:
                self._control.take_down(name)
        for name in sorted(names):
            # None for a name in two folders, whose versions continue to serve.
            directory = self._repository.directory(name)
            if directory is not None and not self._is_incomplete(name):
                self._load(name, always=False)

    def _is_incomplete(self, name: str) -> bool:
        """Whether a private model has files, but neither configuration nor model."""
        directory = self._repository.private(name)
        if not directory.path.is_dir() or directory.config_file.exists():
            return False
        return not directory.has_model_file()

    def load_changed(self, names: Iterable[str]) -> dict[str, ModelLoadError | None]:
        """Load models whose sources have changed; return the error of each, or None.

        Each change is tried once.
        """
        results: dict[str, ModelLoadError | None] = {}
        for name in names:
            directory = self._repository.directory(name)
            loaded = self._control.sources.files(name)
            if directory is None or not loaded:
                continue
            now = sources(directory.files())
            if now not in (sources(loaded), self._tried.get(name)):
                self._tried[name] = now
                results[name] = self._control.reload(name)
        return results

    def _load(self, name: str, *, always: bool = True) -> None:
        try:
            loaded = self._control.bring_up(name, always=always)
        except (BlsnbError, OSError) as error:
            reason = getattr(error, "reason", "") or str(error)
            text = f"{name} did not load after a change: {reason.strip()}"
            self._note(name, "ERROR", text)
            if not isinstance(error, ModelLoadError):
                server_event("E", "%s", text)
        else:
            if loaded:
                self._note(name, "INFO", f"{name} was reloaded")

    def close(self, timeout_s: float) -> None:
        """Stop looking."""
        for watcher in self._watchers:
            watcher.close(timeout_s)
