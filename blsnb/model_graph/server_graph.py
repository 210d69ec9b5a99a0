"""The graph of a server's models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from blsnb.errors import ModelConfigError
from blsnb.model.backend_fields import MODEL_FILENAME
from blsnb.model.config import ModelConfig
from blsnb.model_graph.finding import Finding
from blsnb.model_graph.findings import (
    call_findings,
    cycle_findings,
    ensemble_findings,
    unused_findings,
)
from blsnb.model_graph.graph import GraphCall, GraphModel, Measured, ModelGraph
from blsnb.model_graph.sources.bls_calls import BlsCall, bls_calls
from blsnb.model_graph.sources.possible import Evaluator
from blsnb.model_graph.sources.source_files import SourceFiles, version_folder
from blsnb.parts.server_parts import ServerParts
from blsnb.results.traced import take_trace


@dataclass(frozen=True, slots=True)
class RepositoryModel:
    """Configuration and folder of a model in a repository.

    Parameters
    ----------
    config
        Its configuration; completed by the model if that is loaded.
    folder
        The folder of the newest version that the version policy selects, if any.
    instance_count
        Number of instances of each version.
    origin
        The cell or folder that defines it.
    config_error
        Error message if its configuration cannot be read; else empty.
    file
        Path of its model file, relative to the working folder; empty outside of it.
    """

    config: ModelConfig
    folder: Path | None = None
    instance_count: int = 1
    origin: str = ""
    config_error: str = ""
    file: str = ""


class _Builder:
    """Collects models, calls and findings. Sources are parsed, never run."""

    def __init__(self, sources: Mapping[str, RepositoryModel]) -> None:
        self._sources = sources
        self._configs = {name: source.config for name, source in sources.items()}
        self._numbers = {name: number for number, name in enumerate(sources)}
        self._models = [_node(name, source) for name, source in sources.items()]
        self._calls: dict[tuple[int, int], GraphCall] = {}
        self._findings: list[Finding] = []

    def add(self, name: str) -> None:
        source = self._sources[name]
        if source.config_error:
            self._findings.append(Finding(name, source.config_error))
        if source.config.is_ensemble:
            steps = source.config.message.ensemble_scheduling.step
            for number, step in enumerate(steps, 1):
                call = BlsCall("", 0, (step.model_name,))
                self._add_call(name, call, f"step {number}")
            self._findings += ensemble_findings(source.config, self._configs)
        elif source.folder is not None:
            for call in self._calls_of(name, source):
                self._add_call(name, call, f"{call.file}:{call.line}")

    def _calls_of(self, name: str, source: RepositoryModel) -> list[BlsCall]:
        files = SourceFiles(source.folder or Path())
        evaluator = Evaluator(source.config.parameters)
        parsed = []
        for path in files.paths():
            try:
                parsed.append(files.source(path))
            except (SyntaxError, ValueError) as error:
                text = f"invalid Python: {error}"
                self._findings.append(Finding(name, text, path))
        return [call for each in parsed if each for call in bls_calls(each, evaluator)]

    def _add_call(self, name: str, call: BlsCall, place: str) -> None:
        self._findings += call_findings(name, call, place, self._configs)
        targets = [(target, "missing") for target in call.targets]
        if call.undecided:
            targets.append((call.undecided, "undecided"))
        for target, kind in targets:
            number = self._number(name, target, kind)
            key = self._numbers[name], number
            known = self._calls.get(key)
            places = dict.fromkeys((*(known.places if known else ()), place))
            self._calls[key] = GraphCall(
                *key,
                tuple(places),
                call.is_async or bool(known and known.is_async),
                call.is_stream or bool(known and known.is_stream),
            )

    def _number(self, caller: str, target: str, kind: str) -> int:
        key = f"{caller}\0{target}" if kind == "undecided" else target
        if key not in self._numbers:
            self._numbers[key] = len(self._models)
            self._models.append(GraphModel(target, kind))
        return self._numbers[key]

    def graph(self) -> ModelGraph:
        graph = ModelGraph(tuple(self._models), tuple(self._calls.values()))
        found = [*self._findings, *cycle_findings(graph), *unused_findings(graph)]
        found.sort(key=lambda finding: not finding.is_fault)
        return ModelGraph(graph.models, graph.calls, tuple(dict.fromkeys(found)))


def _node(name: str, source: RepositoryModel) -> GraphModel:
    config = source.config
    kind = "ensemble" if config.is_ensemble else config.backend or "python"
    return GraphModel(name, kind, source.instance_count, source.origin, source.file)


def graph_of(parts: ServerParts) -> ModelGraph:
    """Return the graph of all models of a server's repository.

    Loaded models have their completed configuration, others that in their folder.
    """
    names = parts.repository.names()
    builder = _Builder({name: _source(parts, name) for name in names})
    for name in names:
        builder.add(name)
    return replace(builder.graph(), measured=_last_measured(parts))


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


def _last_measured(parts: ServerParts) -> Measured | None:
    """Return counts and times of the newest recorded run."""
    for record in reversed(list(parts.recorder.runs)):
        if record.calls:
            from blsnb.model_graph.picture import measured

            return measured(take_trace(record))
    return None
