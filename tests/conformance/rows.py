"""Rewrite rows.json: python tests/conformance/rows.py FOLDER_OF_THE_SPECIFICATION.

Every row of every table in §1 to §22 of its ``pb_utils.md`` has an id there, and every
one of its ``model_repository.md``, whose ids begin with an ``r``. A new row
begins as ``not yet``; the others are unchanged.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROWS = Path(__file__).with_name("rows.json")


class Specification(NamedTuple):
    """A file of the specification, and how the ids of its rows begin."""

    file: str
    prefix: str
    last_section: int


SPECIFICATIONS = (
    Specification("pb_utils.md", "", 22),
    Specification("model_repository.md", "r", 7),
)
_HEADING = re.compile(r"#{2,3} (\d+(?:\.\d+)?)")
_RULE = re.compile(r"\|[-| :]+\|")
_WORDS = 6
_LONGEST = 65
_LENGTH = 60


def table_rows(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield section and cells of each row, without the heads of tables."""
    section, lines = "", text.splitlines()
    for number, line in enumerate(lines):
        if heading := _HEADING.match(line):
            section = heading[1]
        if not line.startswith("|") or _RULE.fullmatch(line):
            continue
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if section and not _RULE.fullmatch(below):
            yield section, cells(line)


def cells(line: str) -> list[str]:
    """Return the cells of a row; an escaped bar is part of one."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]


def slug(cell: str) -> str:
    """Return the first words of a cell as part of an id."""
    words = re.findall(r"[a-z0-9_]+", cell.lower())[:_WORDS]
    while len(words) > 1 and sum(map(len, words)) > _LONGEST:
        words.pop()
    # A cell with a list of names has no better name than this.
    return "names" if cell.count(", `") > _WORDS else "-".join(words)


def ids(text: str, prefix: str, last_section: int) -> dict[str, str]:
    """Return id and first words of every row."""
    found: dict[str, str] = {}
    for section, row in table_rows(text):
        if int(section.split(".")[0]) > last_section:
            continue
        # A numbered row says what it is in a later cell.
        first = next(cell for cell in row if cell and not cell.isdigit())
        name = f"{prefix}{section}/{slug(first)}"
        number = 2
        while name in found:
            name = f"{prefix}{section}/{slug(first)}-{number}"
            number += 1
        found[name] = first if len(first) <= _LENGTH else f"{first[: _LENGTH - 1]}…"
    return found


def main(folder: str) -> None:
    """Rewrite the list, and keep the status of each row."""
    old = json.loads(ROWS.read_text()) if ROWS.exists() else {}
    new = {"status": "not yet: nobody has looked at it"}
    lines = []
    for file, prefix, last in SPECIFICATIONS:
        text = (Path(folder) / file).read_text()
        for name, row in ids(text, prefix, last).items():
            entry = {"row": row, "status": old.get(name, new)["status"]}
            lines.append(f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}")
    ROWS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
