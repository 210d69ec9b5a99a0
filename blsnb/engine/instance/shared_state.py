"""Process state that models share here, but not on Triton."""

from __future__ import annotations

import locale
import os
import random
import signal
import sys
from typing import Any, NamedTuple

from blsnb.printable import listed

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_MAX_NAMES = 5


class ProcessState(NamedTuple):
    """The parts of the process state that models commonly change."""

    environment: dict[str, str]
    folder: str
    locale: str
    random: Any
    numpy_random: Any
    signal_handlers: tuple[Any, ...]
    recursion_limit: int
    torch_threads: int | None


_NAMES = {
    "folder": "the current folder",
    "locale": "the locale",
    "random": "the state of random",
    "numpy_random": "the state of numpy.random",
    "signal_handlers": "signal handlers",
    "recursion_limit": "the recursion limit",
    "torch_threads": "torch's number of threads",
}


def snapshot() -> ProcessState:
    """Return the present state, of imported libraries only."""
    numpy_random = sys.modules.get("numpy.random")
    torch_threads = getattr(sys.modules.get("torch"), "get_num_threads", None)
    return ProcessState(
        dict(os.environ),
        _folder(),
        locale.setlocale(locale.LC_ALL),
        random.getstate(),
        None if numpy_random is None else _comparable(numpy_random.get_state()),
        tuple(map(signal.getsignal, _SIGNALS)),
        sys.getrecursionlimit(),
        None if torch_threads is None else torch_threads(),
    )


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _comparable(state: Any) -> tuple[Any, ...]:
    name, keys, *rest = state
    return (name, keys.tobytes(), *rest)


def changes(before: ProcessState, after: ProcessState) -> list[str]:
    """Describe the differences, without those of newly imported libraries."""
    found = []
    if variables := _variables(before.environment, after.environment):
        found.append(f"os.environ ({variables})")
    for field, name in _NAMES.items():
        old = getattr(before, field)
        if old is not None and old != getattr(after, field):
            found.append(name)
    return found


def _variables(old: dict[str, str], new: dict[str, str]) -> str:
    changed = sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
    return listed(changed, _MAX_NAMES)


def note_of_changes(instance: str, before: ProcessState, after: ProcessState) -> str:
    """Return a note on what loading an instance changed; empty if nothing."""
    what = changes(before, after)
    if not what:
        return ""
    return (
        f"Loading {instance} changed {'; '.join(what)}. Here that is shared by all "
        "models and the notebook; on Triton each instance has its own."
    )
