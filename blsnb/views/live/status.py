"""A sentence below a widget: what happened, or what is wrong."""

from __future__ import annotations

from html import escape

from blsnb.printable import printable_lines

ERROR_STYLE = "color: var(--jp-error-color0, #b71c1c); overflow-wrap: anywhere"
_STYLE = "overflow-wrap: anywhere"


def sentence(text: str, *, is_error: bool = False) -> str:
    """Return a text as HTML, which screen readers announce."""
    role, style = ("alert", ERROR_STYLE) if is_error else ("status", _STYLE)
    shown = escape(printable_lines(text))
    return f'<div role="{role}" style="white-space: pre-wrap; {style}">{shown}</div>'
