"""Draw the graph of models as HTML, in the style of a run."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import NamedTuple
from urllib.parse import quote

from blsnb.model_graph.finding import Finding
from blsnb.model_graph.graph import Measured, ModelGraph
from blsnb.model_graph.pipelines import parts_of
from blsnb.printable import counted, listed, printable
from blsnb.trace.spans import Trace
from blsnb.views import callgraph
from blsnb.views.callgraph import CallGraph
from blsnb.views.pictures import graph_picture, svg
from blsnb.views.pictures.layout import (
    BOX_HEIGHT,
    BOX_WIDTH,
    Layout,
    side_by_side,
)

_WIDTH = 960.0
_MARGIN = 12.0
_MAX_LISTED = 100
_LINE = svg.COLOURS["line"]
_KINDS = {"missing": "no such model", "undecided": "undecided"}


def measured(trace: Trace) -> Measured:
    """Return the calls and own time of each model of a run, and who called whom."""
    graph = callgraph.call_graph(trace)
    names = {
        box.model: trace.models[box.model].name for box in graph.boxes if box.model >= 0
    }
    known = [box for box in graph.boxes if box.model in names]
    return Measured(
        {names[box.model]: box.calls for box in known},
        {names[box.model]: box.own_us for box in known},
        {
            (names[edge.source], names[edge.target]): edge.calls
            for edge in graph.edges
            if edge.source in names and edge.target in names
        },
    )


def page(graph: ModelGraph) -> str:
    """Return the graph as HTML, with the counts and times of its last run."""
    drawing = draw(graph)
    return (
        f'<div style="position:relative;width:{_WIDTH:.0f}px;max-width:100%">'
        f"{drawing.svg}{_links(graph, drawing)}"
        f"</div>{_rest(graph, drawing.models)}{_findings(graph.findings)}"
    )


class Drawing(NamedTuple):
    """A drawn graph."""

    svg: str
    width: float
    height: float
    places: list[tuple[int, float, float]]
    """Model and upper left corner of each box."""

    @property
    def models(self) -> set[int]:
        """The models that it shows."""
        return {model for model, _, _ in self.places}


def draw(
    graph: ModelGraph, width: float = _WIDTH, *, has_legend: bool = True
) -> Drawing:
    """Draw the graph in a width, with the counts and times of its last run."""
    parts, models = parts_of(graph, width)
    layout = side_by_side(parts, width)
    drawn = CallGraph(
        tuple(box for part in parts for box in part.boxes),
        tuple(edge for part in parts for edge in part.edges),
    )
    kinds = {b.model: graph.models[models[b.model]].kind for b in drawn.boxes}
    words = {
        box.model: _KINDS.get(kinds[box.model], kinds[box.model])
        for box in drawn.boxes
        if not box.calls
    }
    places = [
        (models[number], place.x - BOX_WIDTH / 2, place.y + _MARGIN)
        for number, place in layout.places.items()
    ]
    legend_height = 24 if drawn.edges and has_legend else 0
    height = layout.height + 2 * _MARGIN + legend_height
    svg = _picture(drawn, layout, words, (width, height), bool(legend_height))
    return Drawing(svg, width, height, places)


def _picture(
    drawn: CallGraph,
    layout: Layout,
    words: Mapping[int, str],
    size: tuple[float, float],
    has_legend: bool,
) -> str:
    width, height = size
    names = {box.name for box in drawn.boxes}
    graph = graph_picture.draw(drawn, layout, _MARGIN, words=words)
    parts = [
        graph_picture.markers(graph),
        svg.rect(0.5, 0.5, width - 1, height - 1, "bg2", rx=8, stroke=_LINE),
        graph,
        graph_picture.legend(drawn, height - 14) if has_legend else "",
    ]
    inner = "".join(parts)
    return svg.tag(
        "svg",
        svg.dark_style(inner) + inner,
        xmlns="http://www.w3.org/2000/svg",
        class_=svg.THEMED,
        width="100%",
        viewBox=f"0 0 {width:.0f} {svg.number(height)}",
        font_family=svg.FONT,
        font_size=12,
        fill=svg.COLOURS["fg"],
        role="img",
        aria_label=f"Graph of {counted(len(names), 'model')}",
    )


def _links(graph: ModelGraph, drawing: Drawing) -> str:
    """Return links over the boxes to the models' files."""
    width, height = drawing.width, drawing.height
    parts = []
    for number, left, top in drawing.places:
        model = graph.models[number]
        if not model.file:
            continue
        style = (
            f"position:absolute;left:{100 * left / width:.2f}%;"
            f"top:{100 * top / height:.2f}%;"
            f"width:{100 * BOX_WIDTH / width:.2f}%;"
            f"height:{100 * BOX_HEIGHT / height:.2f}%"
        )
        title = escape(printable(f"open {model.file}"))
        href = escape(quote(model.file))
        parts.append(
            f'<a href="{href}" title="{title}" aria-label="{title}" '
            f'style="{style}"></a>'
        )
    return "".join(parts)


def _rest(graph: ModelGraph, shown: set[int]) -> str:
    """Return a list of the models that are not drawn."""
    models = enumerate(graph.models)
    names = [printable(each.name) for number, each in models if number not in shown]
    if not names:
        return ""
    return (
        f"<details><summary>{counted(len(names), 'more model')}, not drawn</summary>"
        f"<code>{escape(listed(names, _MAX_LISTED))}</code></details>"
    )


def _findings(findings: tuple[Finding, ...]) -> str:
    if not findings:
        return ""
    rows = "".join(
        f"<li>{'⚠ ' if found.is_fault else ''}<b>{escape(printable(found.model))}</b>"
        f"{_place(found)} {escape(printable(found.text))}</li>"
        for found in findings[:_MAX_LISTED]
    )
    left = len(findings) - _MAX_LISTED
    more = f"<li>… {left:,} more</li>" if left > 0 else ""
    return f'<ul style="margin:6px 0;padding-left:20px">{rows}{more}</ul>'


def _place(found: Finding) -> str:
    return f" <code>{escape(printable(found.place))}</code>" if found.place else ""
