"""Loads: one after the other, each with a life of its own or as part of another."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import partial
from typing import TypeAlias

from blsnb.engine.engine import Engine
from blsnb.engine.instance.instance_threads import Abandoned
from blsnb.engine.loading.load_lock import LoadLock
from blsnb.engine.loading.loader import Loader
from blsnb.engine.request.lifetime import RootRequest, Unwind, interruptible
from blsnb.engine.request.open_requests import OpenRequests
from blsnb.engine.served import Served
from blsnb.errors import ModelLoadError, ServerClosedError
from blsnb.repository.directory import ModelDirectory

_LOADING_S = 1.0
"""How long a server that is closed waits for a load that was told to end."""
Versions: TypeAlias = Mapping[int, Served]
Load: TypeAlias = Callable[[RootRequest], dict[int, Served]]


class Loads:
    """Lets the engine serve what the loader makes.

    Parameters
    ----------
    engine
        Runs requests on what serves.
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
        root: RootRequest | None = None,
        unchanged: Container[int] = (),
        note: Callable[[], None] = lambda: None,
    ) -> None:
        """Load a model, or load it anew; what serves goes on until the new one can.

        Parameters
        ----------
        root
            The request or the load of which it is part.
        unchanged
            Versions whose files are as they were: they stay, if they can.
        note
            Notes that the new versions serve; no interrupt comes between.

        Raises
        ------
        ModelLoadError
            The new model cannot serve; what was loaded before still does.
        Unwind
            What it is part of has ended.
        """
        name = directory.name
        with self.lock.hold(name):
            if self._engine.open_requests.is_stopping:
                raise ServerClosedError
            before = self._engine.catalog.versions(name)
            serving = {n: each for n, each in before.items() if n in unchanged}
            load = partial(self._loader.load, directory, serving)

            def serve(versions: Versions) -> None:
                self._engine.serve(name, versions)
                note()

            if root is None:
                load_interruptibly(self._engine.open_requests, load, serving, serve)
            else:
                serve(load_within(root, load, serving))

    def unload(self, name: str) -> None:
        """Stop serving a model; requests in flight are finished first."""
        with self.lock.hold(name):
            self._engine.withdraw(name)

    def close(self, timeout_s: float) -> None:
        """Refuse, drain, cancel, finalize, join: in that order, and safe to repeat.

        Parameters
        ----------
        timeout_s
            How long requests that are on their way may go on, all of them together.
        """
        self._engine.stop(timeout_s)
        with self.lock.hold("", wait_s=_LOADING_S):
            for name in self._engine.catalog.names():
                self.unload(name)
            self._engine.close()


def load_interruptibly(
    open_requests: OpenRequests,
    load: Load,
    serving: Versions,
    serve: Callable[[Versions], None],
) -> None:
    """Load and serve; Ctrl-C in a hook is the user's, not the model's failure.

    Parameters
    ----------
    serving
        Versions that serve, and do so still if the load ends early.
    serve
        Receives what was loaded.

    Raises
    ------
    ModelLoadError
        The model does not load.
    KeyboardInterrupt, WouldHang
        The load was ended.
    """
    root = open_requests.open_load()
    try:
        # Until the end of this block an interrupt elsewhere than in a hook is noted.
        with interruptible(root, open_requests.folders):
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
    if root.ended is not None:
        raise root.ended


def load_within(root: RootRequest, load: Load, serving: Versions) -> Versions:
    """Load for a hook of another model: what ends its request ends this, too.

    Raises
    ------
    ModelLoadError
        The model does not load.
    Unwind
        The request has ended.
    """
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
    """End what was loaded for nothing."""
    for number, version in versions.items():
        if serving.get(number) is not version:
            version.retire()
