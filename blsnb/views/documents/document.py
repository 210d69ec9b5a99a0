"""A run, or a comparison, as self-contained HTML: picture, table, and the view."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from blsnb.printable import counted, printable
from blsnb.trace.comparison import AnyTrace, TraceComparison, page_part, sides
from blsnb.trace.dropped import notices
from blsnb.trace.excerpt import by_importance
from blsnb.trace.spans import Span, Trace
from blsnb.views import requests
from blsnb.views.batches import executions
from blsnb.views.callgraph import Box, call_graph
from blsnb.views.delta import Delta
from blsnb.views.documents import embed, wire
from blsnb.views.documents.host import hosted
from blsnb.views.exported import exported
from blsnb.views.folded import folded_note, left_out
from blsnb.views.format import cut, time
from blsnb.views.pictures.snapshot import snapshot
from blsnb.views.summary import State, facts, heading, own_times, versus
from blsnb.views.tree import tree

_MAX_TEXT = 4096
"""Maximum number of characters of a text that a page shows without scripts."""
_MAX_REQUESTS = 100
"""Maximum number of calls in the table of requests."""
_MAX_RESPONSES = 8
_REQUESTS_HEAD = ("call", "model", "request", "response")
_COMPARED_HEAD = ("model", "calls", "own time", "before", "difference", "errors")


def mimebundle(run: AnyTrace, **options: Any) -> dict[str, str]:
    """Return a run for a notebook: the document, and the same as texts.

    Parameters
    ----------
    options
        As of `html`.
    """
    return {"text/html": html(run, **options), **exported(tree(run))}


def html(
    run: AnyTrace,
    *,
    state: State | None = None,
    embed_previews: bool = True,
    notes: Sequence[str] = (),
    selected: int = -1,
    height: int = wire.HEIGHT,
    carries_code: bool = True,
) -> str:
    """Return a run as one piece of HTML that needs neither kernel nor network.

    For a very long run the page contains the first and last calls, and a note.

    Parameters
    ----------
    state
        Final state of the run, if it cannot be derived from its calls.
    embed_previews
        Whether values of tensors are embedded, or their statistics only.
    notes
        Notes on the whole run.
    selected
        Id of the selected call; its tensors are embedded before others.
    height
        Last height of the view in pixels, so that the page does not move.
    carries_code
        Whether the code is embedded; otherwise another document of the page must
        contain it.
    """
    run = page_part(run)
    trace, comparison = sides(run)
    notes = [*folded_note(trace), *notes]
    header, buffer = wire.assemble(run, state=state, notes=notes, height=height)
    order = by_importance(trace, selected)
    if comparison:
        differing = [*comparison.changes, *comparison.alignment.new]
        order = list(dict.fromkeys([*differing, *order]))
    header["tensors"] = embed.embed(trace, order, buffer, embed_previews)
    picture = _still(run, state)
    return hosted(wire.page_id(run), picture, header, buffer, carries_code=carries_code)


def page(run: AnyTrace) -> str:
    """Return a run as a whole web page, to be saved in a file."""
    trace, comparison = sides(run)
    title = heading(trace)
    if comparison:
        title += f", {versus(comparison)}"
    return whole_page(title, html(run))


def whole_page(title: str, body: str) -> str:
    """Return a web page around a piece of HTML."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{spelled(title)}</title></head><body>{body}</body></html>\n"
    )


def still(run: AnyTrace, state: State | None = None) -> str:
    """Return the picture and a table, for readers without scripts."""
    return _still(page_part(run), state)


def _still(run: AnyTrace, state: State | None) -> str:
    trace, comparison = sides(run)
    picture = image(snapshot(run, state), [heading(trace), *facts(run)])
    if comparison:
        return picture + _compared_table(comparison) + _requests_table(trace)
    return picture + _models_table(trace) + _requests_table(trace)


def _models_table(trace: Trace) -> str:
    batched = executions(trace)
    boxes = call_graph(trace).boxes
    rows = "".join(_model_row(box, batched) for box in boxes)
    return (
        # A page without styles would use a serif font.
        '<details style="font:13px system-ui,sans-serif"><summary>Models</summary>'
        "<table><thead><tr><th>model</th>"
        f"<th>calls</th>{'<th>executions</th>' if batched else ''}"
        "<th>own time</th><th>errors</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
        f"{_paragraphs([*left_out(trace), *trace.remarks])}</details>"
    )


def _model_row(box: Box, batched: Mapping[int, int]) -> str:
    cells = [f"{box.calls:,}", time(box.own_us), f"{box.errors:,}"]
    if batched:
        cells.insert(1, f"{batched[box.model]:,}" if box.model in batched else "")
    numbers = "".join(
        f'<td style="padding-left:12px;text-align:right">{cell}</td>' for cell in cells
    )
    return f"<tr><td>{spelled(box.name)}</td>{numbers}</tr>"


def _requests_table(trace: Trace) -> str:
    """Return a table of request fields and parameters, or an empty string."""
    found = requests.spans_with_words(trace)
    if not found:
        return ""
    rows = "".join(_request_row(trace, span) for span in found[:_MAX_REQUESTS])
    more = len(found) - _MAX_REQUESTS
    left_out = [f"… {counted(more, 'more call')}"] if more > 0 else []
    head = "".join(f"<th>{each}</th>" for each in _REQUESTS_HEAD)
    return (
        '<details style="font:13px system-ui,sans-serif"><summary>Requests</summary>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"{_paragraphs(left_out)}</details>"
    )


def _request_row(trace: Trace, span: Span) -> str:
    request = requests.request_words(trace, span)
    responses = list(requests.response_words(span))
    shown = responses[:_MAX_RESPONSES]
    more = len(responses) - len(shown)
    shown += [f"… {counted(more, 'more response')}"] if more else []
    words = str(span.id), trace.models[span.model].name, request
    cells = [*map(spelled, words), "<br>".join(map(spelled, shown))]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _compared_table(comparison: TraceComparison) -> str:
    this = comparison.this
    own = own_times(comparison)
    boxes = call_graph(this).boxes
    rows = "".join(_compared_row(box, own[box.model]) for box in boxes)
    head = "".join(f"<th>{each}</th>" for each in _COMPARED_HEAD)
    return (
        "<details><summary>Models and differences</summary>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<pre>{escape(tree(comparison))}</pre>"
        f"{_paragraphs([*notices(this), *this.remarks])}</details>"
    )


def _compared_row(box: Box, own: Delta | None) -> str:
    before, words = ("", "new") if own is None else (time(own.baseline_us), own.words)
    numbers = f"{box.calls:,}", time(box.own_us), before, words, f"{box.errors:,}"
    cells = "".join(f"<td>{cell}</td>" for cell in numbers)
    return f"<tr><td>{spelled(box.name)}</td>{cells}</tr>"


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{spelled(text)}</p>" for text in texts)


def image(picture: str, words: Sequence[str]) -> str:
    """Return an SVG picture as an image element, in which scripts do not run."""
    data = base64.b64encode(picture.encode()).decode()
    return (
        f'<img alt="{spelled(", ".join(words))}" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{data}">'
    )


def spelled(text: str) -> str:
    """Return text for HTML: escaped, cut, with marks for invisible characters."""
    return escape(printable(cut(text, _MAX_TEXT)))
