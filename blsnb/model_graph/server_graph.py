"""The graph of a server's models."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from blsnb.errors import ModelConfigError
from blsnb.model.backend_fields import MODEL_FILENAME
from blsnb.model.config import ModelConfig
from blsnb.model_graph.build import RepositoryModel, model_graph
from blsnb.model_graph.graph import Measured, ModelGraph
from blsnb.model_graph.sources.source_files import version_folder
from blsnb.parts.server_parts import ServerParts
from blsnb.results.traced import take_trace


def graph_of(parts: ServerParts) -> ModelGraph:
    """Return the graph of all models of a server's repository.

    Loaded models have their completed configuration, others that in their folder.
    """
    names = parts.repository.names()
    graph = model_graph({name: _source(parts, name) for name in names})
    return replace(graph, measured=_last_run(parts))


def _source(parts: ServerParts, name: str) -> RepositoryModel:
    directory = parts.repository.directory(name)
    if directory is None:
        return RepositoryModel(
            ModelConfig(), config_error=parts.repository.why_none(name)[0]
        )
    config = parts.engine.catalog.config(name)
    config_error = ""
    if config is None:
        try:
            config = directory.config()
        except ModelConfigError as error:
            config, config_error = ModelConfig(), str(error)
    status = parts.reports.status(name)
    folder = version_folder(directory, config)
    return RepositoryModel(
        config,
        folder,
        status.instance_count or _instance_count(config),
        status.origin or str(directory.path),
        config_error,
        _file(folder, config),
    )


def _instance_count(config: ModelConfig) -> int:
    return sum(max(1, group.count) for group in config.instance_groups) or 1


def _file(folder: Path | None, config: ModelConfig) -> str:
    """Return a model file's path relative to the working folder; empty outside."""
    if folder is None:
        return ""
    file = folder / (config.default_model_filename or MODEL_FILENAME)
    inner = os.path.relpath(file, Path.cwd())
    is_below = not inner.startswith(os.pardir) and file.is_file()
    return Path(inner).as_posix() if is_below else ""


def _last_run(parts: ServerParts) -> Measured | None:
    """Return counts and times of the newest recorded run."""
    for record in reversed(list(parts.recorder.runs)):
        if record.calls:
            from blsnb.model_graph.picture import measured

            return measured(take_trace(record))
    return None
