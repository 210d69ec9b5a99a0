"""Repeat the worst rows of metrics, whose runs other processes did not send."""

from __future__ import annotations

from blsnb.errors import BlsnbError
from blsnb.evaluation.plain import Chunk, Row, RowRunner
from blsnb.evaluation.result.gathering import Gathering
from blsnb.evaluation.work.places import Place
from blsnb.evaluation.work.portable import needed_models
from blsnb.parts.server_parts import ServerParts

IN_SEQUENCE = "it belongs to a sequence, whose rows are executed once"


def why_never(parts: ServerParts, place: Place, model_name: str) -> str:
    """Return why no row of an evaluation can be repeated; empty if rows can be."""
    if place.server_url is not None:
        return "a real server returns no runs"
    if place.is_this_thread:
        return ""
    for name in needed_models(parts, model_name):
        config = parts.engine.catalog.config(name)
        if config is not None and config.scheduling == "sequence_batching":
            return f"{name} keeps state between requests, so rows are executed once"
    return ""


def repeat_worst(place: RowRunner, gathering: Gathering, never: str = "") -> None:
    """Execute the worst rows without a run once more, each alone, and keep their runs.

    Parameters
    ----------
    place
        Where rows are executed; nothing stores these results.
    gathering
        Knows the rows; receives their runs, or the reason why one has none.
    never
        Why no row can be repeated; empty if rows can be.
    """
    repeated: list[Row] = []
    for row in gathering.rows_to_repeat():
        if reason := never or (IN_SEQUENCE if row.sequence is not None else ""):
            gathering.give_up(row.number, reason)
        else:
            repeated.append(row)
    chunks = [Chunk(at, (row,), whole=True) for at, row in enumerate(repeated)]
    try:
        for results in place.results(chunks) if chunks else ():
            for result in results:
                gathering.add_run(result)
    except BlsnbError as error:
        # All rows have their results: the evaluation is complete without these runs.
        for row in gathering.rows_to_repeat():
            gathering.give_up(row.number, f"its repetition was stopped: {error}")
