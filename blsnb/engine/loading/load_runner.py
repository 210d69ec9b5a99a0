"""Run loads, on their own or as part of a request or another load."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import partial
from typing import TypeAlias

from blsnb.engine.engine import Engine
from blsnb.engine.loading.load_lock import ALL_MODELS, LoadLock
from blsnb.engine.loading.loader import Loader
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.request.open_requests import OpenRequests, interruptible
from blsnb.engine.served import Served
from blsnb.engine.threads.outcome import Abandoned
from blsnb.errors import ModelLoadError, ServerClosedError
from blsnb.pb_utils.logger import server_event
from blsnb.repository.directory import ModelDirectory

_LOADING_S = 1.0
"""Maximum seconds for which a closing server waits for an ended load."""
Versions: TypeAlias = Mapping[int, Served]
Load: TypeAlias = Callable[[RootRequest], dict[int, Served]]


class LoadRunner:
    """Loads models with the loader and lets the engine serve them.

    Parameters
    ----------
    engine
        Runs requests on the versions that serve.
    loader
        Makes versions.
    """

    def __init__(self, engine: Engine, loader: Loader) -> None:
        self._engine = engine
        self._loader = loader
        self.lock = LoadLock()

    def load(
        self,
        directory: ModelDirectory,
        root: RootRequest | None,
        unchanged: Container[int],
        note: Callable[[], None],
    ) -> None:
        """Load a model; its former versions serve until the new ones do.

        The caller holds the model in `lock`, as for `unload`.

        Parameters
        ----------
        root
            The request or the load of which this load is part.
        unchanged
            Versions whose files are unchanged; they are kept if possible.
        note
            Notes that the new versions serve, before an interrupt can be raised.
        """
        name = directory.name
        if self._engine.open_requests.is_stopping:
            raise ServerClosedError
        before = self._engine.catalog.versions(name)
        serving = {n: each for n, each in before.items() if n in unchanged}
        load = partial(self._loader.load, directory, serving)

        def serve(versions: Versions) -> None:
            self._engine.serve(name, versions)
            note()
            _log_change(name, before, versions)

        if root is None:
            load_interruptibly(self._engine.open_requests, load, serving, serve)
        else:
            serve(load_within(root, load, serving))

    def unload(self, name: str) -> None:
        """Stop serving a model; requests in flight are finished first."""
        before = self._engine.catalog.versions(name)
        self._engine.withdraw(name)
        _log_unloaded(name, before)

    def close(self, timeout_s: float) -> None:
        """Refuse, drain, cancel, finalize, join, in that order; safe to repeat.

        Ctrl-C only ends the time for requests.

        Parameters
        ----------
        timeout_s
            Time for all requests in flight together.
        """
        try:
            self._engine.stop(timeout_s)
        finally:
            with self.lock.hold(ALL_MODELS, wait_s=_LOADING_S):
                for name in self._engine.catalog.names():
                    self.unload(name)
                self._engine.close()


def _log_change(name: str, before: Versions, versions: Versions) -> None:
    server_event("I", "successfully loaded '%s'", name)
    kept = set(versions.values())
    _log_unloaded(name, {n: each for n, each in before.items() if each not in kept})


def _log_unloaded(name: str, versions: Versions) -> None:
    for number in sorted(versions):
        server_event("I", "successfully unloaded '%s' version %d", name, number)


def load_interruptibly(
    open_requests: OpenRequests,
    load: Load,
    serving: Versions,
    serve: Callable[[Versions], None],
) -> None:
    """Load and serve; Ctrl-C in a hook interrupts the load.

    Parameters
    ----------
    serving
        Versions that serve now, and still if the load ends early.
    serve
        Receives the loaded versions.
    """
    root = open_requests.open_load()
    try:
        # Within this block an interrupt between hooks is only recorded.
        with interruptible(root, RootRequest.complete):
            versions = load(root)
            if root.ended is None:
                serve(versions)
            else:
                _retire(versions, serving)
    except (ModelLoadError, Abandoned, Unwind):
        if root.ended is None:
            raise
    finally:
        root.complete()
    root.raise_ended()


def load_within(root: RootRequest, load: Load, serving: Versions) -> Versions:
    """Load as part of another request or load, whose end ends this load, too."""
    versions: Versions = {}
    try:
        versions = load(root)
    except (ModelLoadError, Abandoned):
        root.check()
        raise
    if root.ended is not None:
        _retire(versions, serving)
        raise Unwind
    return versions


def _retire(versions: Versions, serving: Versions) -> None:
    """Retire loaded versions that never served."""
    for number, version in versions.items():
        if serving.get(number) is not version:
            version.retire()
