"""Rows of the models of a server, read often and cheaply."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from blsnb.panel.changes import Row
from blsnb.parts.server_parts import ServerParts
from blsnb.repository.status import ModelStatus

_LOOK_NS = 2_000_000
"""Time per reading, in nanoseconds, to look for changes that only files show."""


class ModelRows:
    """Reads the models; what depends on files is read by turns.

    Parameters
    ----------
    clock
        Returns a monotonic time in nanoseconds.
    """

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock = clock
        self._keys: dict[str, Hashable] = {}
        self._rows: dict[str, Row] = {}
        self._turn = 0

    def read(self, parts: ServerParts) -> dict[str, Row]:
        """Return a row for each model, by name."""
        names = parts.repository.names()
        for name in self._rows.keys() - names:
            del self._rows[name], self._keys[name]
        for name in names:
            self._read_if_changed(parts, name)
        self._read_by_turns(parts, names)
        return {name: self._rows[name] | _counts(parts, name) for name in names}

    def _read_if_changed(self, parts: ServerParts, name: str) -> None:
        key = _key(parts, name)
        if name not in self._rows or self._keys[name] != key:
            self._keys[name] = key
            self._rows[name] = model_row(parts.reports.status(name))

    def _read_by_turns(self, parts: ServerParts, names: list[str]) -> None:
        end_ns = self._clock() + _LOOK_NS
        for _ in names:
            self._turn = (self._turn + 1) % len(names)
            name = names[self._turn]
            self._rows[name] = model_row(parts.reports.status(name))
            if self._clock() >= end_ns:
                return


def model_row(status: ModelStatus) -> Row:
    """Return what the panel shows of a model's status."""
    return {
        "name": status.name,
        "state": status.state,
        "reason": status.reason,
        "versions": list(status.versions),
        "origin": status.origin,
        "load_s": status.load_s,
        "trouble": list(status.trouble),
        "differs": bool(status.differs),
        "standin": status.standin,
        "running": list(status.running),
    }


def _key(parts: ServerParts, name: str) -> Hashable:
    """Return a value that differs after a load, an unload or a failure."""
    catalog = parts.engine.catalog
    serving = tuple(map(id, catalog.versions(name).values()))
    failure = parts.reports.newer_failures.get(name, "")
    return tuple(catalog.states(name).items()), serving, failure


def _counts(parts: ServerParts, name: str) -> Row:
    serving = list(parts.engine.catalog.versions(name).values())
    counts = [each.instance_counts for each in serving]
    return {
        "busy": sum(busy for busy, _ in counts),
        "instances": sum(instances for _, instances in counts),
        "waiting": sum(each.waiting_count for each in serving),
    }
