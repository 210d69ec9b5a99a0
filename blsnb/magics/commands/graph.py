"""``%triton graph``: which model may call which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.error import UsageError

from blsnb.magics import default_server as default
from blsnb.magics.line import Line

if TYPE_CHECKING:
    from blsnb.model_graph.graph import ModelGraph

USAGE = ""
SUMMARY = "show which model may call which, without running any"


def graph(line: Line) -> ModelGraph:
    """Return the graph of the models."""
    if line.words:
        raise UsageError("usage: %triton graph")
    return default.server().graph()


def bundle(graph: ModelGraph) -> dict[str, str]:
    """Return the graph as HTML and as text."""
    from blsnb.model_graph.picture import page

    return {"text/html": page(graph), "text/plain": str(graph)}
