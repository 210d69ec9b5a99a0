"""Loads and unloads that follow from those of their models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from blsnb.engine.catalog import Catalog
from blsnb.engine.engine import Engine
from blsnb.engine.loading.load_failures import dependency_failed, poll_failed
from blsnb.engine.loading.model_sources import ModelSource, ModelSources
from blsnb.engine.model_log import NoteWriter
from blsnb.engine.request.lifetime import RootRequest
from blsnb.errors import ModelConfigError, ModelLoadError
from blsnb.model.backend_fields import ENSEMBLE
from blsnb.model.config import ModelConfig
from blsnb.model.rules.dependencies import (
    Composing,
    composing_models,
    find_faults,
    validate_ensemble,
)
from blsnb.model.rules.validate import validate_create
from blsnb.pb_utils.compiled.releases import has
from blsnb.pb_utils.logger import server_event
from blsnb.repository.directory import ModelDirectory
from blsnb.trace.events import ModelInfo

if TYPE_CHECKING:
    from blsnb.engine.ensemble import ServedEnsemble

_is_reloading: ContextVar[bool] = ContextVar("is_reloading", default=False)
"""Whether an ensemble is being loaded because one of its models was loaded."""


class SingleModels(Protocol):
    """Loads and unloads one model each; the methods of `ModelControl`."""

    sources: ModelSources
    """The folders and files from which models serve."""

    def bring_up(self, name: str, *, root: RootRequest | None, by_name: bool) -> bool:
        """Load a model if it does not serve or its files are newer."""

    def polled(self, name: str) -> ModelConfig | None:
        """Return the configuration of a model in the repository; None if invalid."""

    def reload_ensemble(self, source: ModelSource, root: RootRequest | None) -> None:
        """Load an ensemble from its last source."""

    def take_down(self, name: str, *, wanted: bool = ...) -> None:
        """Stop serving a model."""

    def is_loading(self, name: str) -> bool:
        """Whether the caller is part of a load of this model."""


class Ensembles:
    """The ensembles that are wanted, and their models.

    If a model of an ensemble is unloaded or no longer fits, the ensemble is unloaded
    with it. The ensemble stays wanted, and is loaded again with the model.

    References
    ----------
    core: src/model_repository_manager/model_repository_manager.cc,
    LoadUnloadModels, DependencyGraph
    """

    def __init__(
        self, catalog: Catalog, control: SingleModels, note: NoteWriter
    ) -> None:
        self._catalog = catalog
        self._control = control
        self._note = note
        self._wanted: dict[str, ModelSource] = {}
        """The source from which each ensemble was loaded."""
        self._down: dict[str, tuple[str, str]] = {}
        """Ensembles that were unloaded together with a model, which is named with the
        reason."""
        self._loaded_by_name: set[str] = set()

    def note_loaded_by_name(self, name: str) -> None:
        """Note that a model was loaded by name, not as part of an ensemble."""
        self._loaded_by_name.add(name)

    def forget(self, name: str) -> None:
        """Note that a model was unloaded and is no longer wanted."""
        self._loaded_by_name.discard(name)
        self._wanted.pop(name, None)
        self._down.pop(name, None)

    def note_source(self, source: ModelSource, config: ModelConfig) -> None:
        """Note the source of a model; it is wanted if it is an ensemble.

        Parameters
        ----------
        config
            The model's configuration, normalised.
        """
        name = source.directory.name
        self._down.pop(name, None)
        if not config.is_ensemble:
            self._wanted.pop(name, None)
            return
        directory = source.directory._replace(override=config)
        self._wanted[name] = source._replace(directory=directory)

    def notes_on(self, name: str) -> Iterator[str]:
        """Yield which ensembles were unloaded with a model, or why it was unloaded."""
        for ensemble, (model, reason) in sorted(self._down.copy().items()):
            if ensemble == name:
                event = f"was loaded: {reason}" if reason else "was unloaded"
                yield f"it went down when its model {model!r} {event}"
            elif model == name:
                why = f": {reason}" if reason else " with it"
                yield f"the ensemble {ensemble!r} went down{why}"

    def load_models(
        self, config: ModelConfig, root: RootRequest | None
    ) -> dict[str, Composing]:
        """Load the models of an ensemble that are new; return the result of each."""
        self._check_circles(config)
        return {
            name: self._load_model(config.name, name, root)
            for name in composing_models(config)
        }

    def refresh_models(self, ensemble: str, root: RootRequest | None) -> None:
        """Load the models of an unchanged ensemble that are new."""
        for name in self.models_of(ensemble):
            self._load_model(ensemble, name, root)

    def _check_circles(self, config: ModelConfig) -> None:
        configs = {config.name: config}
        self._collect(config, configs)
        reason = find_faults(configs, list(configs)).get(config.name)
        if reason is not None:
            missing = [each for each in composing_models(config) if each not in configs]
            advice = self._catalog.advice_on_names(missing[0]) if missing else ""
            raise ModelConfigError(reason, stage="dependency", advice=advice)

    def _collect(self, config: ModelConfig, configs: dict[str, ModelConfig]) -> None:
        """Add the configurations of an ensemble's models, and of theirs."""
        for name in composing_models(config):
            if name in configs:
                continue
            found = self._catalog.config(name) or self._control.polled(name)
            if found is not None:
                configs[name] = found
                self._collect(found, configs)

    def _load_model(
        self, ensemble: str, name: str, root: RootRequest | None
    ) -> Composing:
        serves = bool(self._catalog.versions(name))
        try:
            if not (serves and _is_reloading.get()):
                self._control.bring_up(name, root=root, by_name=False)
        except ModelLoadError as error:
            if serves and error.stage == "poll":
                reason = f"its model {name!r} cannot be read: {error.reason}"
                raise poll_failed(ensemble, reason, error.advice) from error
            if not self._catalog.versions(name):
                return _failed(name, error)
        versions = self._catalog.versions(name)
        return Composing({number: each.config for number, each in versions.items()})

    def reload_with(self, name: str, root: RootRequest | None) -> None:
        """Reload the ensembles of a loaded model; unload those that it does not fit."""
        for ensemble in self._ensembles_of(name):
            if self._control.is_loading(ensemble):
                continue
            before = _is_reloading.set(True)
            try:
                self._control.reload_ensemble(self._wanted[ensemble], root)
            except ModelLoadError as error:
                self._note(ensemble, "ERROR", error.message)
                self._control.take_down(ensemble, wanted=True)
                self._down[ensemble] = (name, error.reason)
            finally:
                _is_reloading.reset(before)

    def take_down_with(self, name: str) -> None:
        """Unload the ensembles of a model that is unloaded."""
        for ensemble in self._ensembles_of(name):
            if self._catalog.versions(ensemble):
                self._control.take_down(ensemble, wanted=True)
                self._down[ensemble] = (name, "")

    def unload_unused(self, models: Iterable[str]) -> None:
        """Unload models that were not loaded by name and belong to no ensemble."""
        for model in models:
            serves = self._catalog.versions(model)
            if not serves or model in self._loaded_by_name or self._ensembles_of(model):
                continue
            nested = self.models_of(model)
            self._control.take_down(model)
            self.unload_unused(nested)

    def models_of(self, ensemble: str) -> list[str]:
        """Return the models of a wanted ensemble; none of any other model."""
        source = self._wanted.get(ensemble)
        return sorted(composing_models(source.directory.config())) if source else []

    def _ensembles_of(self, model: str) -> list[str]:
        wanted = list(self._wanted)
        return sorted(name for name in wanted if model in self.models_of(name))

    def related(self, name: str, steps: Iterable[str]) -> frozenset[str]:
        """Return the models that ensembles connect with a model, and the model.

        Parameters
        ----------
        steps
            The models that it will use as an ensemble.

        References
        ----------
        core: src/model_repository_manager/model_repository_manager.cc,
        DependencyGraph::LockNodes
        """
        found, left = {name}, {name, *steps}
        while left:
            each = left.pop()
            found.add(each)
            connected = {*self.models_of(each), *self._ensembles_of(each)}
            left |= connected.union(self._control.sources.steps(each)) - found
        return frozenset(found)


def _failed(name: str, error: ModelLoadError) -> Composing:
    """Return the result of a model that does not load."""
    text = error.message.removeprefix(f"load failed for model '{name}': ")
    text = text.removesuffix("\n")
    if error.stage == "dependency":
        return Composing(invalid=text)
    return Composing(failure=text)


class EnsembleMaker:
    """Makes the versions of ensembles.

    Parameters
    ----------
    engine
        Runs the requests of steps.
    ensembles
        Loads the models of an ensemble.
    """

    def __init__(self, engine: Engine, ensembles: Ensembles) -> None:
        self._engine = engine
        self._ensembles = ensembles
        self._waits_with_errors = has("ensemble_waits_with_errors", engine.release)

    def complete(self, config: ModelConfig, root: RootRequest) -> ModelConfig:
        """Load the models of an ensemble and complete its configuration from theirs."""
        try:
            return validate_ensemble(config, self._ensembles.load_models(config, root))
        except ModelConfigError as error:
            server_event("E", "Invalid argument: %s", error.message)
            raise dependency_failed(config.name, error.message, error.advice) from error

    def make(
        self, directory: ModelDirectory, config: ModelConfig, number: int
    ) -> ServedEnsemble:
        """Make a version of an ensemble."""
        from blsnb.engine.ensemble import ServedEnsemble
        from blsnb.engine.scheduling.ensembles.plan import EnsemblePlan

        validate_create(config, model_dir=directory.path)
        engine = self._engine
        return ServedEnsemble(
            config,
            ModelInfo(config.name, number, ENSEMBLE, "cpu", "model", ""),
            EnsemblePlan(config, self._models(config)),
            engine.router,
            engine.workers,
            self._waits_with_errors,
            engine.cache,
            engine.placements.of(config),
        )

    def _models(self, config: ModelConfig) -> dict[tuple[str, int], ModelConfig]:
        return {
            (name, number): self._engine.catalog.find(name, number).config
            for name, numbers in composing_models(config).items()
            for number in numbers
        }
