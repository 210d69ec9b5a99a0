"""ChangedFiles: models are loaded anew when files of their folders change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from blsnb.engine.loading.control import ModelControl
from blsnb.engine.loading.saves import Saves
from blsnb.engine.threads.watcher import Watcher
from blsnb.errors import BlsnbError, ModelLoadError
from blsnb.repository.directory import Files, sources
from blsnb.repository.repository import ModelRepository

LogWriter = Callable[[str, str, str, str, int], None]
_WATCH_PAUSE_S = 0.25
_HERE = "changed_files.py"


class ChangedFiles:
    """Looks at the folders of models, and loads what is new there.

    A load that fails leaves what serves, and is logged.

    Parameters
    ----------
    control
        Loads and unloads.
    repository
        Where the folders are.
    log
        Takes model, level, text, file and line.
    """

    def __init__(
        self, control: ModelControl, repository: ModelRepository, log: LogWriter
    ) -> None:
        self._control = control
        self._repository = repository
        self._log = log
        self._lock = threading.Lock()
        """Only one thread looks."""
        self._watched: dict[str, Saves] = {}
        self._tried: dict[str, Files] = {}
        """Sources of our own models that were loaded, or did not load."""
        self._watchers: list[Watcher] = []

    def watch(self, name: str) -> None:
        """Load a model anew whenever a file of its folder is saved."""
        served = self._control.files(name)
        saves = Saves(served)
        directory = self._repository.directory(name)
        if directory is not None:
            # What the model wrote while it loaded is no save.
            saves.taken(served, directory.files())
        with self._lock:
            if not any(watcher.name == "blsnb watch" for watcher in self._watchers):
                self._start(self.look, _WATCH_PAUSE_S, "blsnb watch")
            self._watched.setdefault(name, saves)

    def unwatch(self, name: str) -> None:
        """Watch a model no more; one that was not watched is no error."""
        with self._lock:
            self._watched.pop(name, None)

    def watched(self) -> list[str]:
        """Return the names of the models that are watched, sorted."""
        return sorted(self._watched)

    def poll(self, pause_s: float) -> None:
        """Serve from now on what is in the repository, as mode ``poll`` does."""
        self._start(self.poll_once, pause_s, "blsnb poll")

    def _start(self, look: Callable[[], None], pause_s: float, name: str) -> None:
        watcher = Watcher(look, pause_s, name)
        watcher.start()
        self._watchers.append(watcher)

    def look(self) -> None:
        """Load the watched models that were saved, each when its files are still."""
        for name, saves in list(self._watched.items()):
            directory = self._repository.directory(name)
            if directory is None:
                continue
            before = directory.files()
            if saves.is_due(before):
                self._load(name)
                saves.taken(before, directory.files())

    def poll_once(self) -> None:
        """Load what is new or newer, and unload what is gone.

        What failed is tried again each time, as on Triton.
        """
        names = set(self._repository.names())
        for name in self._control.serving():
            if name not in names:
                self._control.take_down(name)
        for name in sorted(names):
            # None for a name that two folders have: what serves goes on.
            directory = self._repository.directory(name)
            if directory is not None and not self._is_begun(name):
                self._load(name, always=False)

    def _is_begun(self, name: str) -> bool:
        """Whether a model of our own has files, but no model yet."""
        directory = self._repository.private(name)
        if not directory.path.is_dir() or directory.config_file.exists():
            return False
        return not directory.has_model_file()

    def load_changed(self, names: Iterable[str]) -> dict[str, ModelLoadError | None]:
        """Load models whose sources were changed since, and return what came of it.

        The same change is tried once.
        """
        done: dict[str, ModelLoadError | None] = {}
        for name in names:
            directory = self._repository.directory(name)
            served = self._control.files(name)
            if directory is None or not served:
                continue
            now = sources(directory.files())
            if now not in (sources(served), self._tried.get(name)):
                self._tried[name] = now
                done[name] = self._tried_to_load(name)
        return done

    def _tried_to_load(self, name: str) -> ModelLoadError | None:
        try:
            self._control.bring_up(name, always=True)
        except ModelLoadError as error:
            return error
        return None

    def _load(self, name: str, *, always: bool = True) -> None:
        try:
            loaded = self._control.bring_up(name, always=always)
        except (BlsnbError, OSError) as error:
            reason = getattr(error, "reason", "") or str(error)
            text = f"{name} did not load after a change: {reason.strip()}"
            self._log(name, "ERROR", text, _HERE, 0)
        else:
            if loaded:
                self._log(name, "INFO", f"{name} was loaded anew", _HERE, 0)

    def close(self, timeout_s: float) -> None:
        """Stop looking."""
        for watcher in self._watchers:
            watcher.close(timeout_s)
