"""The lists that pages watch, read from the kernel's server."""

from __future__ import annotations

from collections.abc import Collection

from blsnb.panel.changes import Rows
from blsnb.panel.host import Host
from blsnb.panel.model_rows import ModelRows


class Lists:
    """Reads what pages watch."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._models = ModelRows()

    def read(self, names: Collection[str]) -> dict[str, Rows]:
        """Return the rows of lists, by the name of the list."""
        parts = self._host.parts()
        found: dict[str, Rows] = {}
        if "models" in names:
            found["models"] = {} if parts is None else self._models.read(parts)
        return found
