"""Rooms of a package from the top down, and what each may import.

The contracts are derived from the ordered list of rooms, and from the files in which
each library may be imported. A room or library in neither is a violation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from benchmarks.structure.graph import shortest_path
from benchmarks.structure.imports import Imports


class Rooms:
    """Rooms in rows from the top down; rooms in one row know nothing of each other.

    A room is a folder or a file, named by its path without ``.py``. A file belongs to
    the room with the longest path that fits.
    """

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        self._depths = {room: depth for depth, row in enumerate(rows) for room in row}
        self._found: dict[str, str | None] = {}

    def of(self, path: str) -> str | None:
        """Return the room of a file; None if no room has it."""
        if path not in self._found:
            rooms = [room for room in self._depths if _covers(room, path)]
            self._found[path] = max(rooms, key=len, default=None)
        return self._found[path]

    def may_import(self, importer: str, imported: str) -> bool:
        """Whether a room may import another one: only from a row below its own."""
        return importer == imported or self._depths[importer] < self._depths[imported]

    def unused(self, paths: Sequence[str]) -> list[str]:
        """Return the rooms that have no file."""
        used = {self.of(path) for path in paths}
        return [room for room in self._depths if room not in used]


def import_violations(
    rooms: Rooms, imports: Imports, paths: Sequence[str]
) -> Iterator[str]:
    """Yield a sentence for each file without a room and each import that goes up."""
    for path in paths:
        if rooms.of(path) is None:
            yield f"{path} belongs to no room: add its room to rooms.order."
    for room in rooms.unused(paths):
        yield f"Room {room!r} of rooms.order has no file: remove it there."
    for each in imports.internal:
        importer, imported = rooms.of(each.importer), rooms.of(each.imported)
        if importer and imported and not rooms.may_import(importer, imported):
            yield (
                f"{each}: room {importer!r} may import only rooms that stand below it "
                f"in rooms.order, and {imported!r} does not."
            )


def reach_violations(
    imports: Imports, never: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield a sentence for each file that reaches a room that it must never reach."""
    edges = imports.edges()
    for room, others in never.items():
        for start in sorted(path for path in edges if _covers(room, path)):
            found = shortest_path(edges, start, partial(_is_in, places=others))
            if found:
                reached = ", ".join(others)
                yield f"{' -> '.join(found)}: {room!r} must not reach {reached}."


def library_violations(
    imports: Imports, places: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield a sentence for each library that is imported outside its places."""
    for each in imports.external:
        allowed = places.get(each.library)
        if allowed is None:
            if each.library not in sys.stdlib_module_names:
                yield f"{each}: add the library and its places to [libraries]."
        elif not _is_in(each.importer, allowed):
            names = ", ".join(allowed)
            yield f"{each}: {each.library} may be imported only in {names}."
    yield from _unused_places(imports, places)


def _unused_places(
    imports: Imports, places: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    met = {(each.library, each.importer) for each in imports.external}
    for library, allowed in places.items():
        for place in allowed:
            if not any(library == name and _covers(place, path) for name, path in met):
                yield f"{library} is not imported in {place}: remove it in [libraries]."


def _is_in(path: str, places: Sequence[str]) -> bool:
    return any(_covers(place, path) for place in places)


def _covers(place: str, path: str) -> bool:
    return path == f"{place}.py" or path.startswith(f"{place}/")
