"""Actions of the panel on models, and their graph."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from blsnb.errors import BlsnbError
from blsnb.model_graph.graph import ModelGraph
from blsnb.model_graph.picture import Drawing, draw
from blsnb.panel.host import Host
from blsnb.parts.server_parts import parts_of
from blsnb.repository.directory import CONFIG_FILE, ModelDirectory, version_number
from blsnb.views.documents.buffer import Buffer
from blsnb.views.live.queries import Message, QueryError, invalid
from blsnb.views.pictures.layout import BOX_HEIGHT, BOX_WIDTH

_MAX_NAME = 1024
"""Maximum number of characters of a model's name in a request."""
_WIDTHS = range(200, 4001)
"""Valid widths of the drawing in pixels."""
_MAX_FINDINGS = 100
LOAD = "load"
Action = Callable[[Host, str], Message]


def act_on_model(host: Host, query: Message) -> Message:
    """Carry out an action on a model, and return the keys of its answer.

    Parameters
    ----------
    query
        ``name``: the action; ``model``: the model's name.

    Raises
    ------
    QueryError
        The action or the model is unknown, or the action failed; its text says why.
    """
    action = MODEL_ACTIONS.get(str(query.get("name")))
    if action is None:
        known = ", ".join(map(repr, MODEL_ACTIONS))
        raise invalid("name", query.get("name"), f"one of {known}")
    name = query.get("model")
    if not isinstance(name, str) or not name or len(name) > _MAX_NAME:
        raise invalid("model", name, "the name of a model")
    if name not in parts_of(host.server()).repository.names():
        raise QueryError("gone", f"this kernel has no model {name!r}")
    try:
        return action(host, name)
    except KeyboardInterrupt:
        raise QueryError("refused", f"{name}: interrupted") from None
    except (BlsnbError, OSError, ValueError) as error:
        raise QueryError("refused", str(error)) from error


def _load(host: Host, name: str) -> Message:
    status = host.server().load(name)
    return {"done": f"{name} is loaded in {status.load_s * 1e3:.0f} ms."}


def _unload(host: Host, name: str) -> Message:
    host.server().unload(name)
    return {"done": f"{name} is unloaded."}


def _open(host: Host, name: str) -> Message:
    """Return where the model is written: a cell, or a file of its folder."""
    server = host.server()
    place: Message = {"model": name, "cell": "", "file": ""}
    origin = server.model(name).origin
    if origin.startswith("cell "):
        # The newest cell has the text that serves.
        place["cell"] = origin.rpartition("cell ")[2]
    repository = parts_of(server).repository
    directory = repository.directory(name)
    if directory is not None and directory.path.parent != repository.private_root:
        # Jupyter's paths begin at a folder that the kernel does not know.
        file = directory.path / _source(directory)
        place["file"] = os.path.relpath(file, host.folder)
    return {"place": place}


def _source(directory: ModelDirectory) -> str:
    """Return the path of the newest ``model.py``, else of another source."""

    def rank(path: str) -> tuple[bool, int, str]:
        return path.endswith("/model.py"), version_number(path) or 0, path

    sources = (path for path in directory.files() if path.endswith(".py"))
    return max(sources, key=rank, default=CONFIG_FILE)


def _edit(host: Host, name: str) -> Message:
    directory = parts_of(host.server()).repository.directory(name)
    cells = [] if directory is None else host.cells_of(directory)
    if not cells:
        raise QueryError("refused", f"{name} has no file that a cell could hold")
    return {"cells": cells, "run": False}


def _write_back(host: Host, name: str) -> Message:
    host.server().export_repository(names=[name], in_place=True)
    return {"done": f"The folder of {name} has what its cells changed."}


def _line(subcommand: str, *, run: bool) -> Action:
    """Return an action that inserts a ``%triton`` line as a cell."""

    def insert(host: Host, name: str) -> Message:
        return {"cells": [host.line(subcommand, name)], "run": run}

    return insert


MODEL_ACTIONS: Mapping[str, Action] = {
    LOAD: _load,
    "unload": _unload,
    "open": _open,
    "edit": _edit,
    "try": _line("try", run=True),
    "stats": _line("stats", run=True),
    "diff": _line("diff", run=True),
    "export": _line("export", run=False),
    "write_back": _write_back,
}


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
            [graph.models[number].name, left, top]
            for number, left, top in drawing.places
            if graph.models[number].is_known
        ],
        "findings": [
            [each.model, each.place, each.text, each.is_fault] for each in findings
        ],
        "others": len(graph.models) - len(drawing.models),
        "unlisted": len(graph.findings) - len(findings),
    }
