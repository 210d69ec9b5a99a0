"""Copy a server for other processes, or refuse what exists in this process only."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from blsnb.errors import BlsnbError
from blsnb.evaluation.work.server_copy import ServerCopy
from blsnb.model_graph.server_graph import graph_of
from blsnb.parts.server_parts import ServerParts
from blsnb.repository.manifest import digest_of, files_below

_EXIT_TIMEOUT_S = 5.0


def copy_server(parts: ServerParts, model_name: str, folder: Path) -> ServerCopy:
    """Write a model, and each model that it may call, into an empty folder.

    Raises
    ------
    BlsnbError
        A model, or the runtime, exists in this process only; the message names each.
    RepositoryError
        A file cannot be read or written.
    """
    names = needed_models(parts, model_name)
    refuse_bound(parts, names)
    stand_ins = _stand_ins(parts, names)
    models = tuple(name for name in names if name not in stand_ins)
    if models:
        parts.folders.export_as_served(folder, models)
    for name in stand_ins:
        parts.folders.export_config(folder, name)
    settings = replace(
        parts.settings,
        model_repository=None,
        startup_models=(),
        model_control_mode="explicit",
        runtime=parts.devices.given,
        exit_timeout_s=min(parts.settings.exit_timeout_s, _EXIT_TIMEOUT_S),
        otlp=None,
    )
    found = {name: parts.repository.directory(name) for name in models}
    origins = {name: str(each.path) for name, each in found.items() if each is not None}
    copy = ServerCopy(settings, models, stand_ins, origins)
    return replace(copy, digest=_digest(copy, folder))


def needed_models(parts: ServerParts, model_name: str) -> list[str]:
    """Return the ready models that requests of a model may reach, sorted.

    These are all ready models where a call's target is not known before it happens.
    """
    ready = set(parts.engine.catalog.names())
    graph = graph_of(parts)
    known = {model.name for model in graph.models if model.is_known}
    undecided = {m.name for m in graph.models if m.kind == "undecided"}
    found: set[str] = set()
    pending = [model_name]
    while pending:
        name = pending.pop()
        if name in undecided:
            return sorted(ready)
        if name in known and name not in found:
            found.add(name)
            pending += graph.calls_from(name)
    return sorted(found & ready)


def refuse_bound(parts: ServerParts, names: Iterable[str]) -> None:
    """Refuse models that exist in this process only.

    Raises
    ------
    BlsnbError
        The message names each, with the reason.
    """
    reasons = [f"  {name}: {why}" for name in names if (why := _why_bound(parts, name))]
    if not isinstance(parts.devices.given, str):
        reasons.append(
            f"  runtime: {parts.devices.runtime.describe()} is an object of this "
            "process; name a runtime, such as runtime='auto'"
        )
    if reasons:
        raise BlsnbError(
            "the models cannot run in other processes; evaluate without workers and "
            "executor, or change these:\n" + "\n".join(reasons)
        )


def _why_bound(parts: ServerParts, name: str) -> str:
    standin = parts.control.standins.get(name)
    if standin is not None and standin.arguments is None:
        return (
            f"a stand-in replaces it ({standin.description}), which exists in this "
            "process only; write it as a model"
        )
    if standin is None and parts.control.sources.is_changed(name):
        return "its files have changed since it was loaded; load it again"
    return ""


def _stand_ins(
    parts: ServerParts, names: Iterable[str]
) -> dict[str, Mapping[str, Any]]:
    found = {name: parts.control.standins.get(name) for name in names}
    return {
        name: standin.arguments
        for name, standin in found.items()
        if standin is not None and standin.arguments is not None
    }


def _digest(copy: ServerCopy, folder: Path) -> str:
    sha = hashlib.sha256(pickle.dumps(replace(copy, digest="")))
    for file in sorted(files_below(folder)):
        path = file.relative_to(folder).as_posix()
        sha.update(f"\n{path}: {digest_of(file)}".encode())
    return sha.hexdigest()
