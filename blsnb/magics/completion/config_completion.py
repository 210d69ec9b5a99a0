"""Tab and Shift+Tab in ``%%triton_config`` cells: fields and enumerators."""

from __future__ import annotations

import re
from typing import Any

from IPython.core.completer import SimpleCompletion, context_matcher

from blsnb.magics.completion.cell_text import text_until_cursor

_CONFIG_CELL = re.compile(r"\s*%%triton_config\b[^\n]*\n")
_WORD = re.compile(r"\w*$")


@context_matcher(identifier="blsnb.configuration")
def complete_configuration(context: Any) -> dict[str, Any]:
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
    return {
        "completions": [SimpleCompletion(name, type="field") for name in found],
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
        Empty for another cell, or an unknown word.
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
    return f"{word}: {meaning}" if meaning else ""
