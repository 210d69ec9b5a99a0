"""A comparison as HTML: its picture, its table, and the calls on both servers."""

from __future__ import annotations

import base64

from blsnb.parity import picture
from blsnb.parity.agreement import Agreement
from blsnb.printable import counted
from blsnb.views.documents import document
from blsnb.views.documents.document import spelled, whole_page

_MAX_ROWS = 80
_MAX_TEXT = 2000
_LEFT = 'style="text-align:left;vertical-align:top;white-space:pre-wrap"'


def html(parity: Agreement, *, embed_previews: bool = True) -> str:
    """Return HTML that needs neither kernel nor network."""
    notes = "".join(f"<p><small>{spelled(note)}</small></p>" for note in parity.notes)
    data = base64.b64encode(picture.png(parity)).decode()
    image = (
        f'<img alt="{spelled(parity.caption)}" width="{picture.WIDTH}" '
        f'style="max-width:100%" src="data:image/png;base64,{data}">'
    )
    return f"{image}{notes}{_table(parity)}{_calls(parity, embed_previews)}"


def whole(parity: Agreement) -> str:
    """Return a complete web page, to be saved in a file."""
    body = f'<div style="font:14px system-ui,sans-serif">{html(parity)}</div>'
    return whole_page(parity.caption, body)


def _table(parity: Agreement) -> str:
    head, rows = parity.table()
    cells = "".join(f"<th {_LEFT}>{spelled(name)}</th>" for name in head)
    body = "".join(map(_row, rows[:_MAX_ROWS]))
    left_out = len(rows) - _MAX_ROWS
    more = f"<p>… {counted(left_out, 'further row')}</p>" if left_out > 0 else ""
    # Differences are visible at once; a table without any can be opened.
    open_ = "" if parity.agree else " open"
    return (
        f"<details{open_}><summary>All compared parts</summary><table><thead>"
        f"<tr>{cells}</tr></thead><tbody>{body}</tbody></table>{more}</details>"
    )


def _row(row: tuple[str, ...]) -> str:
    cells = "".join(f"<td {_LEFT}>{_lines(text)}</td>" for text in row)
    return f"<tr>{cells}</tr>"


def _lines(text: str) -> str:
    """Return a text of several lines, escaped and shortened."""
    cut = text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
    return "<br>".join(map(spelled, cut.strip().splitlines()))


def _calls(parity: Agreement, embed_previews: bool) -> str:
    case, comparison = parity.shown_case, parity.comparison
    if case is None or comparison is None:
        return ""
    calls = document.html(comparison.trace, embed_previews=embed_previews)
    title = spelled(f"Calls of {case.name} on blsnb, above those on the real server")
    return f"<p>{title}</p>{calls}"
