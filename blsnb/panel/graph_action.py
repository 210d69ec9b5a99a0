"""The graph of the models for the panel."""

from __future__ import annotations

from blsnb.model_graph.graph import ModelGraph
from blsnb.model_graph.picture import Drawing, draw
from blsnb.panel.host import Host
from blsnb.views.documents.buffer import Buffer
from blsnb.views.live.queries import Message, invalid
from blsnb.views.pictures.layout import BOX_HEIGHT, BOX_WIDTH

_WIDTHS = range(200, 4001)
"""Valid widths of the drawing in pixels."""
_MAX_FINDINGS = 100


def show_graph(host: Host, query: Message, buffer: Buffer) -> Message:
    """Return the drawing, the place of each model in it, and the findings.

    Parameters
    ----------
    query
        ``width``: that of the drawing in pixels.
    buffer
        Receives the drawing as SVG.

    Raises
    ------
    QueryError
        The width is invalid, or the kernel has no server.
    """
    width = query.get("width")
    if not isinstance(width, int) or width not in _WIDTHS:
        limits = f"an integer from {_WIDTHS[0]} to {_WIDTHS[-1]}"
        raise invalid("width", width, limits)
    graph = host.server().graph()
    drawing = draw(graph, width, has_legend=False)
    svg = drawing.svg.encode("utf-8", "backslashreplace")
    return {"graph": {"svg": buffer.add(svg), **_words(graph, drawing)}}


def _words(graph: ModelGraph, drawing: Drawing) -> Message:
    findings = graph.findings[:_MAX_FINDINGS]
    return {
        "size": [drawing.width, drawing.height],
        "box": [BOX_WIDTH, BOX_HEIGHT],
        "places": [
            [graph.models[number].name, *corner]
            for number, corner in drawing.places.items()
            if graph.models[number].is_known
        ],
        "findings": [
            [each.model, each.place, each.text, each.is_fault] for each in findings
        ],
        "others": len(graph.models) - len(drawing.places),
        "unlisted": len(graph.findings) - len(findings),
    }
