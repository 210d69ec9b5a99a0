"""Differences between cells and folders, coloured and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from blsnb.printable import printable, shortened

if TYPE_CHECKING:
    from blsnb.repository.imported.write_back import ChangedModel

_MAX_LINES = 2000
"""Maximum number of lines shown for a model."""
_PRE = (
    "margin:2px 0 8px;padding:0;overflow-x:auto;line-height:1.4;font-size:12px;"
    "background:transparent;color:inherit;"
    "font-family:var(--jp-code-font-family,var(--vscode-editor-font-family,monospace))"
)
_ADDED = "var(--jp-success-color1,var(--vscode-charts-green,#12866a))"
_REMOVED = "var(--jp-error-color1,var(--vscode-charts-red,#b42318))"
_PLACE = "var(--jp-content-font-color2,var(--vscode-descriptionForeground,#667085))"
_STYLES = {
    "+++": f"color:{_PLACE};font-weight:bold",
    "---": f"color:{_PLACE};font-weight:bold",
    "@@ ": f"color:{_PLACE}",
    "+": f"background:rgba(46,160,67,.18);box-shadow:inset 3px 0 {_ADDED}",
    "-": f"background:rgba(229,83,75,.18);box-shadow:inset 3px 0 {_REMOVED}",
}
"""Styles of lines by their first characters; text keeps the page's colour."""


def bundle(models: Sequence[ChangedModel]) -> dict[str, str]:
    """Return the differences of models as HTML and as text."""
    parts = [(_head(model), list(_lines(model))) for model in models]
    page = "".join(_html(head, lines) for head, lines in parts)
    plain = "\n\n".join("\n".join([head, *lines]) for head, lines in parts)
    return {
        "text/html": f'<div class="blsnb-difference">{page}</div>',
        "text/plain": plain,
    }


def _head(model: ChangedModel) -> str:
    head = f"{model.name}: {model.cell} against {model.derived.folder}"
    stale = ", ".join(edit.path for edit in model.stale())
    return f"{head}\n⚠ changed in the folder, too: {stale}" if stale else head


def _lines(model: ChangedModel) -> Iterator[str]:
    """Yield the changes of each file; for a conflict, those of both sides."""
    lines: list[str] = []
    for edit in model.edits:
        show = edit.three_way if edit.is_stale else edit.difference
        lines += show(model.name, model.cell)
    for line in shortened(lines, _MAX_LINES, "line"):
        # Leading tabs are indentation, not control characters.
        yield printable(line.expandtabs(4))


def _html(head: str, lines: Sequence[str]) -> str:
    rows = "".join(
        f'<div style="{_style(each)}">{escape(each)}</div>' for each in lines
    )
    title = "<br>".join(escape(printable(each)) for each in head.split("\n"))
    return f'<div><b>{title}</b><pre style="{_PRE}">{rows}</pre></div>'


def _style(line: str) -> str:
    found = next((begin for begin in _STYLES if line.startswith(begin)), "")
    return f"padding:0 8px;{_STYLES.get(found, '')}"
