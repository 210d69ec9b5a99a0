"""Rooms of the view's sources: folders of few files that import in one direction."""

from __future__ import annotations

import graphlib
import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "js/src"
MOST_FILES = 14
_IMPORTED = re.compile(r'\bfrom "(\.{1,2}/[^"]+)"')


def imported_rooms() -> dict[Path, set[Path]]:
    """Return the other rooms that the files of each room import."""
    found: dict[Path, set[Path]] = {}
    for path in SRC.rglob("*.ts"):
        names = _IMPORTED.findall(path.read_text(encoding="utf-8"))
        rooms = {(path.parent / name).resolve().parent for name in names}
        found.setdefault(path.parent, set()).update(rooms - {path.parent})
    return found


def in_order(rooms: dict[Path, set[Path]]) -> list[Path]:
    """Return rooms so that each one follows those that it imports."""
    return list(graphlib.TopologicalSorter(rooms).static_order())


def test_a_room_has_few_files():
    """As many as one of the package."""
    rooms = {path.parent for path in SRC.rglob("*.ts")}
    counts = {room: sum(each.is_file() for each in room.iterdir()) for room in rooms}

    assert len(counts) > 10
    assert {} == {room: n for room, n in counts.items() if n > MOST_FILES}


def test_rooms_import_in_one_direction():
    """What is drawn knows the trace, and not the other way round."""
    order = in_order(imported_rooms())

    assert order.index(SRC / "trace") < order.index(SRC / "timeline")
    assert order.index(SRC / "page") < order.index(SRC / "frame")


def test_a_circle_is_found():
    """Otherwise the test above could not fail."""
    one, other = Path("one"), Path("other")
    with pytest.raises(graphlib.CycleError):
        in_order({one: {other}, other: {one}})
