"""Tab and Shift+Tab in ``%%triton_config`` cells: fields and enumerators."""

from __future__ import annotations

import re
from typing import Any

from IPython.core.completer import SimpleCompletion

from blsnb.errors import ModelConfigError
from blsnb.magics import default_server as default
from blsnb.magics.checked import lint_lines
from blsnb.magics.completion.cursor import text_until_cursor
from blsnb.parts.server_parts import parts_of

_CONFIG_CELL = re.compile(r"\s*%%triton_config\b[^\n]*\n")
_WORD = re.compile(r"\w*$")


def completions(context: Any) -> dict[str, Any]:
    """Complete fields, enumerators and booleans; ignore other cells."""
    text = text_until_cursor(context)
    cell = _CONFIG_CELL.match(text)
    if cell is None:
        return {"completions": []}
    # Deferred: loading the extension must not import the schema.
    from blsnb.model.text.config_fields import candidates, place_at_end

    fragment = text[_word_start(text) :]
    place = place_at_end(text[cell.end() : len(text) - len(fragment)])
    names = {} if place is None else candidates(place)
    found = [name for name in names if name.startswith(fragment)]
    kind = "field" if place is None or place.field is None else "value"
    return {
        "completions": [SimpleCompletion(name, type=kind) for name in found],
        "matched_fragment": fragment,
        "suppress": True,
    }


def _word_start(text: str) -> int:
    found = _WORD.search(text)
    return len(text) if found is None else found.start()


def field_documentation(cell: str, position: int) -> str:
    """Return the documentation of a field or enumerator of a cell.

    Returns
    -------
    str
        Its meaning, and the findings of the linter in its line. Empty for another
        cell, or an unknown word.
    """
    magic = _CONFIG_CELL.match(cell)
    if magic is None or position < magic.end():
        return ""
    from blsnb.model.text.config_fields import candidates, place_at_end

    start = _word_start(cell[:position])
    rest = re.match(r"\w*", cell[position:])
    word = cell[start:position] + (rest[0] if rest else "")
    place = place_at_end(cell[magic.end() : start])
    meaning = "" if place is None else candidates(place).get(word, "")
    line = cell.count("\n", magic.end(), position) + 1
    found = _findings(cell[magic.end() :], line) if meaning else []
    return "\n\n".join([f"{word}: {meaning}", *found]) if meaning else ""


def _findings(text: str, line: int) -> list[str]:
    """Return the linter's findings in a line of a configuration."""
    server = default.started()
    gpu_count = 0 if server is None else parts_of(server).engine.placements.gpu_count
    try:
        lines = lint_lines(text, gpu_count)
    except ModelConfigError:
        # An incomplete text; running the cell reports the error.
        return []
    return [f"⚠ {found}" for found, where in lines.items() if where == line]
