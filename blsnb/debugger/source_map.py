"""The sources in which a debugger shows the files of models."""

from __future__ import annotations

from collections.abc import Mapping

from blsnb.debugger.process_debugger import MappedLines, ProcessDebugger

Wanted = Mapping[str, tuple[str, MappedLines]]
"""The source and the lines of each executed file."""


class SourceMap:
    """Keeps the mappings of a debugger equal to the wanted ones.

    A debugger accepts one source for an executed file. So the mapping of a source that
    is no longer wanted is removed before others are added.
    """

    def __init__(self) -> None:
        self._py_db: object = None
        self._applied: dict[str, MappedLines] = {}

    def apply(self, debugger: ProcessDebugger, wanted: Wanted) -> None:
        """Change the debugger's mappings to the wanted ones.

        Raises
        ------
        UnknownDebugger
            The debugger has refused a mapping.
        """
        if debugger.py_db is not self._py_db:
            self._py_db, self._applied = debugger.py_db, {}
        sources = dict(wanted.values())
        for source in [s for s in self._applied if self._applied[s] != sources.get(s)]:
            debugger.map_lines(source, [])
            del self._applied[source]
        for source, lines in sources.items():
            if source not in self._applied:
                debugger.map_lines(source, [lines])
                self._applied[source] = lines
