"""What is reported of a server's models: states, index, configurations."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from blsnb.arguments import check_text, version_of
from blsnb.engine.engine import Engine
from blsnb.engine.loading.control import ModelControl
from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.errors import InferenceError, ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.normalization import normalise
from blsnb.printable import counted
from blsnb.repository.directory import ModelDirectory
from blsnb.repository.repository import ModelRepository
from blsnb.repository.status import ModelStatus, ambiguous_row, status_of
from blsnb.results.implied_configs import ImpliedConfigs


class ModelReports:
    """Reports the models of a server; changes none of them."""

    def __init__(
        self,
        engine: Engine,
        control: ModelControl,
        repository: ModelRepository,
        implied_configs: ImpliedConfigs,
    ) -> None:
        self._engine = engine
        self._control = control
        self._repository = repository
        self._implied_configs = implied_configs
        self.newer_failures: dict[str, str] = {}
        """Why a newer text of a model did not load, by model, with the cell."""

    def __repr__(self) -> str:
        rows = self.index()
        ready = {row["name"] for row in rows if row.get("state") == "READY"}
        # A folder without a model is in Triton's index, too.
        others = len({row["name"] for row in rows} - ready)
        models = counted(len(ready), "model")
        return f"{models} ready{f', {others} not' * bool(others)}"

    def statuses(self) -> list[ModelStatus]:
        """Return the status of every model, sorted by name.

        A model that was removed is among them while Ctrl-C has not ended it.
        """
        names = set(self._repository.names())
        removed = {name for name, _ in self._engine.abandoned.running()} - names
        return [
            replace(self.status(name), state="REMOVED")
            if name in removed
            else self.status(name)
            for name in sorted(names | removed)
        ]

    def status(self, name: str) -> ModelStatus:
        """Return the status of a model."""
        check_text(name=name)
        serving = self._engine.catalog.versions(name).values()
        found = dict.fromkeys(each for served in serving for each in served.findings)
        running = self._engine.abandoned.running(name).values()
        status = status_of(
            name,
            self._engine.catalog.states(name),
            self._engine.catalog.config(name),
            self._control.seconds.get(name, 0.0),
            self._control.standins.descriptions().get(name, ""),
            (*found, *self._control.ensembles.notes_on(name)),
            self._engine.placements.gpu_count,
            self._origin(name),
            tuple(self._trouble(name)),
        )
        return replace(
            status,
            running=tuple(itertools.chain(*running)),
            differs=self._folder_that_differs(name),
            imply=self._implied_configs.of,
            advise=self._missing_file,
        )

    def _missing_file(self, name: str) -> str:
        """Return what a model without a model file needs; empty if it has one."""
        directory = self._repository.directory(name)
        if directory is None or directory.has_model_file() or directory.is_ensemble():
            return ""
        # Deferred: few models lack a file.
        from blsnb.backends.backend_registry import missing_file_advice

        with contextlib.suppress(ModelConfigError):
            config = normalise(directory.config(), model_name=name)
            return missing_file_advice(config, name)
        return ""

    def _folder_that_differs(self, name: str) -> str:
        derived = self._repository.derivations.get(name)
        return str(derived.folder) if derived is not None and derived.edits() else ""

    def _origin(self, name: str) -> str:
        """Return the origin of a serving model."""
        directory = self._control.sources.folder(name)
        if directory is None:
            return ""
        if self._control.sources.is_overridden(name):
            return "files or a configuration given with load()"
        if directory.path.parent != self._repository.private_root:
            return str(directory.path)
        versions = self._engine.catalog.versions(name)
        cells = [served.info.origin for served in versions.values()]
        named = dict.fromkeys(f"cell {origin.cell}" for origin in cells if origin)
        if named:
            return ", ".join(named)
        derived = self._repository.derivations.get(name)
        return str(derived.folder) if derived else self._configured_in(directory)

    def _configured_in(self, directory: ModelDirectory) -> str:
        """Return the origin of an ensemble, or of a model with a stand-in."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = directory.config_file.read_text(encoding="utf-8")
            if origin := self._control.origins.get(text):
                return f"cell {origin.cell}"
        return "define()"

    def _trouble(self, name: str) -> Iterator[str]:
        """Yield reasons why the serving text is not the newest one."""
        if name in self.newer_failures:
            yield self.newer_failures[name]
        elif self._control.sources.is_changed(name):
            yield f"changed on disk since the load: %triton load {name}"

    def exists(self, name: str) -> bool:
        """Whether a model has a folder, or serves without one."""
        if self._repository.directory(name) is not None:
            return True
        return self._control.sources.folder(name) is not None

    def index(self) -> list[dict[str, str]]:
        """Return Triton's repository index: a row for each version of each model."""
        rivals = self._repository.ambiguous()
        index = self._engine.catalog.index
        return [
            row
            for name in self._repository.names()
            for row in ([ambiguous_row(name)] if name in rivals else index(name))
        ]

    def config(self, name: str, *, version: int = -1) -> dict[str, Any]:
        """Return the configuration of a model that serves, in Triton's JSON form."""
        return self._served(name, version).config.to_dict(self._engine.release)

    def served_config(self, name: str) -> ModelConfig:
        """Return the completed configuration of a model that serves."""
        return self._served(name, -1).config

    def config_text(self, name: str, *, version: int = -1) -> str:
        """Return the completed configuration as the text of a ``config.pbtxt``."""
        return self._served(name, version).config.to_pbtxt()

    def _served(self, name: str, version: int) -> Served:
        check_text(name=name)
        version = version_of(version)
        try:
            return self._engine.catalog.find(name, version)
        except RequestError as error:
            raise inference_error(error) from None


def inference_error(error: RequestError) -> InferenceError:
    """Return the error that the client of a refused request receives."""
    return InferenceError(error.message, error.code, advice=error.advice)
