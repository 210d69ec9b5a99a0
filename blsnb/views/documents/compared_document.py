"""A comparison as self-contained HTML: picture, table, text, and the view itself."""

from __future__ import annotations

from html import escape

from blsnb.trace.comparison import TraceComparison
from blsnb.trace.dropped import notices
from blsnb.views.callgraph import Box, call_graph
from blsnb.views.columns import columns_of
from blsnb.views.compared_tree import compared_tree
from blsnb.views.delta import Delta
from blsnb.views.documents import compared_wire, embed, wire
from blsnb.views.documents.document import hosted, image, spelled, whole_page
from blsnb.views.folded import folded_note
from blsnb.views.format import time
from blsnb.views.pictures.compared_picture import compared_snapshot
from blsnb.views.pictures.snapshot import heading, summary
from blsnb.views.summary import counts, own_times, versus

_HEADINGS = ("model", "calls", "own time", "before", "difference", "errors")


def compared_mimebundle(
    comparison: TraceComparison, *, embed_previews: bool = True
) -> dict[str, str]:
    """Return a comparison for a notebook: the document, and the same as text."""
    return {
        "text/html": compared_html(comparison, embed_previews=embed_previews),
        "text/plain": compared_tree(comparison),
    }


def compared_page(comparison: TraceComparison) -> str:
    """Return a comparison as a whole web page, to be saved in a file."""
    title = f"{heading(comparison.this)}, {versus(comparison)}"
    return whole_page(title, compared_html(comparison))


def compared_html(
    comparison: TraceComparison,
    *,
    embed_previews: bool = True,
    height: int = wire.HEIGHT,
    code: str | None = None,
) -> str:
    """Return a comparison as HTML that needs neither kernel nor network.

    Parameters
    ----------
    embed_previews
        Whether values of tensors are saved in it, or their statistics only.
    height
        Height in pixels of the view.
    code
        The view's JavaScript; the one that blsnb brings if None.
    """
    comparison = comparison.shown
    this = comparison.this
    notes = folded_note(this)
    header, buffer = compared_wire.assemble(comparison, notes=notes, height=height)
    told = [*comparison.changes, *comparison.alignment.new]
    order = dict.fromkeys([*told, *embed.priority(this, columns_of(this))])
    header["tensors"] = embed.embed(this, list(order), buffer, embed_previews)
    run = compared_wire.page_id(comparison)
    return hosted(run, compared_still(comparison), header, buffer, code)


def compared_still(comparison: TraceComparison) -> str:
    """Return what readers without scripts see: picture, table and text."""
    comparison = comparison.shown
    this = comparison.this
    columns = columns_of(this)
    facts = [heading(this), *summary(this, columns), versus(comparison)]
    own = own_times(comparison)
    boxes = call_graph(this, columns).boxes
    rows = "".join(_row(box, own[box.model]) for box in boxes)
    head = "".join(f"<th>{each}</th>" for each in _HEADINGS)
    said = "".join(
        f"<p>{spelled(remark)}</p>" for remark in [*notices(this), *this.remarks]
    )
    return (
        f"{image(compared_snapshot(comparison), [*facts, *counts(comparison)])}"
        "<details><summary>Models and differences</summary>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<pre>{escape(compared_tree(comparison))}</pre>{said}</details>"
    )


def _row(box: Box, own: Delta | None) -> str:
    before, words = ("", "new") if own is None else (time(own.baseline_us), own.words)
    numbers = f"{box.calls:,}", time(box.own_us), before, words, f"{box.errors:,}"
    cells = "".join(f"<td>{cell}</td>" for cell in numbers)
    return f"<tr><td>{spelled(box.name)}</td>{cells}</tr>"
