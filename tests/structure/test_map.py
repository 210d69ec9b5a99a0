"""The map in CONTRIBUTING.md has the rooms of the package in their order."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def test_the_map_lists_all_rooms_from_the_top_down():
    """Folders and files of the package are in the order of limits.toml."""
    limits = tomllib.loads((CHECKOUT / "benchmarks/structure/limits.toml").read_text())
    rooms = dict.fromkeys(
        name.partition("/")[0] for row in limits["rooms"]["order"] for name in row
    )
    guide = (CHECKOUT / "CONTRIBUTING.md").read_text()
    cells = re.findall(r"^\| (`.*?) \|", guide, re.MULTILINE)
    mapped = re.findall(r"`(\w+)(?:/|\.py)`", " ".join(cells))

    assert [name for name in rooms if not name.startswith("__")] == mapped
