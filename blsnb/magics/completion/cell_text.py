"""The text of a cell up to the cursor."""

from __future__ import annotations

from typing import Any


def text_until_cursor(context: Any) -> str:
    """Return the text of the cell up to the cursor."""
    lines = context.full_text.split("\n")[: context.cursor_line + 1]
    lines[-1] = context.text_until_cursor
    return "\n".join(lines)
