"""The sources in which a debugger shows the files of models."""

from __future__ import annotations

from typing import Any

from blsnb.debugger.source_map import SourceMap


class Debugger:
    """A debugger that notes its mappings."""

    def __init__(self) -> None:
        self.py_db: Any = object()
        self.mapped: list[tuple[str, list[Any]]] = []

    def map_lines(self, source: str, lines: list[Any]) -> None:
        """Note a mapping."""
        self.mapped.append((source, lines))

    def new(self) -> list[tuple[str, list[Any]]]:
        """Return the mappings since the last call."""
        found, self.mapped = self.mapped, []
        return found


ONE, TWO = ("file", 1, 2), ("file", 3, 4)


def test_only_changes_are_sent_to_a_debugger():
    """What is no longer wanted is removed before others are added."""
    debugger, sources = Debugger(), SourceMap()
    steps = (
        {"a.py": ("cell 1", ONE)},
        {"a.py": ("cell 1", ONE), "b.py": ("cell 2", TWO)},
        {"a.py": ("cell 1", ONE), "b.py": ("cell 2", TWO)},
        {"a.py": ("cell 3", ONE), "b.py": ("cell 2", ONE)},
        {},
        {"a.py": ("cell 3", ONE)},
    )
    sent = []
    for wanted in steps:
        sources.apply(debugger, wanted)
        sent.append(debugger.new())

    assert [
        [("cell 1", [ONE])],
        [("cell 2", [TWO])],
        [],
        [("cell 1", []), ("cell 2", []), ("cell 3", [ONE]), ("cell 2", [ONE])],
        [("cell 3", []), ("cell 2", [])],
        [("cell 3", [ONE])],
    ] == sent


def test_a_debugger_that_was_switched_on_again_gets_all_mappings():
    """It has forgotten those of its earlier session."""
    debugger, sources = Debugger(), SourceMap()
    wanted = {"a.py": ("cell 1", ONE)}
    sources.apply(debugger, wanted)
    debugger.py_db = object()
    sources.apply(debugger, wanted)

    assert [("cell 1", [ONE])] * 2 == debugger.new()
