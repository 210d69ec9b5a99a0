"""Loads of models: each with a life of its own, or as part of what asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from blsnb.engine.root import RootRequest, Unwind, interruptible
from blsnb.engine.served import Served
from blsnb.engine.threads import Abandoned
from blsnb.errors import ModelLoadError

if TYPE_CHECKING:
    from blsnb.engine.engine import Engine

Versions: TypeAlias = Mapping[int, Served]
Load: TypeAlias = Callable[[RootRequest], dict[int, Served]]


def load_interruptibly(engine: Engine, load: Load, serving: Versions) -> Versions:
    """Load, and let Ctrl-C in a hook be the user's, not the model's failure.

    Parameters
    ----------
    serving
        Versions that serve, and do so still if the load ends early.

    Raises
    ------
    ModelLoadError
        The model does not load.
    KeyboardInterrupt, WouldHang
        The load was ended.
    """
    root = engine.root_of_load()
    versions: Versions = {}
    try:
        with interruptible(root, engine.control.folders):
            versions = load(root)
    except (ModelLoadError, Abandoned, Unwind):
        if root.ended is None:
            raise
    finally:
        root.done.wake()
    if root.ended is not None:
        _retire(versions, serving)
        raise root.ended
    return versions


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
