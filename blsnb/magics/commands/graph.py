"""``%triton graph``: which model may call which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.error import UsageError

from blsnb.magics import default_server as default
from blsnb.magics.commands.usages import SUMMARIES
from blsnb.magics.flags import Flags
from blsnb.magics.line import Line
from blsnb.options import options
from blsnb.parts.server_parts import parts_of

if TYPE_CHECKING:
    from blsnb.model_graph.graph import ModelGraph


def graph_flags() -> Flags:
    """Return the parser of ``%triton graph``."""
    flags = Flags("%triton graph", SUMMARIES["graph"])
    flags.add_argument(
        "--as",
        nargs=2,
        dest="proposed",
        metavar=("ensemble", "NAME"),
        help="print the config.pbtxt of an ensemble in place of a BLS model, and "
        "compare both on the inputs of its last run",
    )
    return flags


def graph(line: Line) -> ModelGraph | None:
    """Return the graph of the models, or print a proposed ensemble."""
    proposed = graph_flags().parse(line.words).proposed
    if proposed is None:
        return default.server().graph()
    kind, name = proposed
    if kind != "ensemble":
        raise UsageError(f"%triton graph: --as {kind} NAME: expected --as ensemble")
    from blsnb.model_graph.ensemble_proposal import NotAnEnsembleError
    from blsnb.model_graph.ensemble_trial import try_as_ensemble

    try:
        with options.using(show=False):
            print(try_as_ensemble(parts_of(default.server()), name))
    except NotAnEnsembleError as error:
        raise UsageError(f"No ensemble does what {name} does: {error}.") from error
    return None


def bundle(graph: ModelGraph) -> dict[str, str]:
    """Return the graph as HTML and as text."""
    from blsnb.model_graph.picture import page

    return {"text/html": page(graph), "text/plain": str(graph)}
