"""Ensembles: what the load or unload of one model means for others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple, Protocol

from blsnb.engine.catalog import Catalog
from blsnb.engine.loading.binder import ModelLogWriter
from blsnb.engine.loading.load_failures import poll_failed
from blsnb.engine.request.lifetime import RootRequest
from blsnb.errors import ModelConfigError, ModelLoadError
from blsnb.model.config import ModelConfig
from blsnb.model.rules.dependencies import Composing, composing_models, find_faults
from blsnb.repository.directory import Files, ModelDirectory


class Taken(NamedTuple):
    """What a model was loaded from.

    Parameters
    ----------
    files
        As they were then.
    overridden
        Whether it is something else than its folder holds.
    """

    directory: ModelDirectory
    files: Files
    overridden: bool


class Control(Protocol):
    """What loads and unloads single models."""

    def bring_up(self, name: str, *, root: RootRequest | None, asked: bool) -> bool:
        """Load a model if anything of it is new; ModelLoadError says why not."""

    def polled(self, name: str) -> ModelConfig | None:
        """Return the configuration of a model in the repository, if it is right."""

    def renew(self, taken: Taken, root: RootRequest | None) -> None:
        """Load an ensemble as it was taken up; ModelLoadError says why not."""

    def take_down(self, name: str, *, wanted: bool = False) -> None:
        """Stop serving a model; if it is wanted, it comes back as soon as it can."""

    def is_loading(self, name: str) -> bool:
        """Whether whoever asks is part of a load of this model."""


class Ensembles:
    """Which ensembles are wanted, and of which models they are made.

    An ensemble stays wanted when a model of it is unloaded or does not fit any
    more: it goes down with it, and comes back with it.

    References
    ----------
    core: src/model_repository_manager/model_repository_manager.cc,
    LoadUnloadModels, DependencyGraph
    """

    def __init__(self, catalog: Catalog, control: Control, log: ModelLogWriter) -> None:
        self._catalog = catalog
        self._control = control
        self._log = log
        self._wanted: dict[str, Taken] = {}
        """What each ensemble is made of anew, whatever its folder holds by then."""
        self._down: dict[str, tuple[str, str]] = {}
        """Ensembles that went down: with which model, and why, if it was loaded."""
        self._asked: set[str] = set()
        """What was loaded for its own sake."""
        self._renewing = False
        """Whether an ensemble is loaded because of a model, and not the reverse."""

    def ask(self, name: str) -> None:
        """Note that a model was loaded for its own sake."""
        self._asked.add(name)

    def forget(self, name: str) -> None:
        """Note that a model was unloaded, and is not wanted any more."""
        self._asked.discard(name)
        self._wanted.pop(name, None)
        self._down.pop(name, None)

    def take(self, taken: Taken, config: ModelConfig) -> None:
        """Note what was taken up, if it is an ensemble.

        Parameters
        ----------
        config
            Of the model, normalised.
        """
        name = taken.directory.name
        self._down.pop(name, None)
        if not config.is_ensemble:
            self._wanted.pop(name, None)
            return
        directory = replace(taken.directory, override=config)
        self._wanted[name] = taken._replace(directory=directory)

    def told(self, name: str) -> Iterator[str]:
        """Yield what a user should know of a model's ensembles, or of itself."""
        for ensemble, (model, reason) in sorted(self._down.items()):
            if ensemble == name:
                became = f"was loaded: {reason}" if reason else "was unloaded"
                yield f"it went down when its model {model!r} {became}"
            elif model == name:
                why = f": {reason}" if reason else " with it"
                yield f"the ensemble {ensemble!r} went down{why}"

    def composing(
        self, config: ModelConfig, root: RootRequest | None
    ) -> dict[str, Composing]:
        """Load the models of an ensemble that are new; say what became of each.

        Raises
        ------
        ModelConfigError
            At stage ``dependency``: a model is nowhere, or the ensembles go round
            in a circle.
        ModelLoadError
            At stage ``poll``: the folder of one that serves is wrong, or gone.
        """
        self._check_circles(config)
        return {
            name: self._composing(config.name, name, root)
            for name in composing_models(config)
        }

    def refresh(self, ensemble: str, root: RootRequest | None) -> None:
        """Load the models of an ensemble that are new, though it is not.

        Raises
        ------
        ModelLoadError
            The folder of one is wrong, or gone.
        """
        for name in self.models_of(ensemble):
            self._composing(ensemble, name, root)

    def _check_circles(self, config: ModelConfig) -> None:
        configs = {config.name: config}
        self._read(config, configs)
        reason = find_faults(configs, list(configs)).get(config.name)
        if reason is not None:
            missing = any(name not in configs for name in composing_models(config))
            advice = self._catalog.advice_on_names() if missing else ""
            raise ModelConfigError(reason, stage="dependency", advice=advice)

    def _read(self, config: ModelConfig, configs: dict[str, ModelConfig]) -> None:
        """Read the configurations of an ensemble's models, and of theirs."""
        for name in composing_models(config):
            if name in configs:
                continue
            found = self._catalog.config(name) or self._control.polled(name)
            if found is not None:
                configs[name] = found
                self._read(found, configs)

    def _composing(
        self, ensemble: str, name: str, root: RootRequest | None
    ) -> Composing:
        serves = bool(self._catalog.versions(name))
        try:
            if not (serves and self._renewing):
                self._control.bring_up(name, root=root, asked=False)
        except ModelLoadError as error:
            if serves and error.stage == "poll":
                reason = f"its model {name!r} cannot be read: {error.reason}"
                raise poll_failed(ensemble, reason, error.advice) from error
            if not self._catalog.versions(name):
                return _failed(name, error)
        versions = self._catalog.versions(name)
        return Composing({number: each.config for number, each in versions.items()})

    def renew(self, name: str, root: RootRequest | None) -> None:
        """Load anew the ensembles of which a model that was loaded is a part.

        One that it does not fit any more goes down.
        """
        for ensemble in self._of(name):
            if self._control.is_loading(ensemble):
                continue
            before, self._renewing = self._renewing, True
            try:
                self._control.renew(self._wanted[ensemble], root)
            except ModelLoadError as error:
                self._log(ensemble, "ERROR", error.message, __file__, 0)
                self._control.take_down(ensemble, wanted=True)
                self._down[ensemble] = (name, error.reason)
            finally:
                self._renewing = before

    def take_down(self, name: str) -> None:
        """Take down the ensembles of which a model is a part that was unloaded."""
        for ensemble in self._of(name):
            if self._catalog.versions(ensemble):
                self._control.take_down(ensemble, wanted=True)
                self._down[ensemble] = (name, "")

    def drop_unused(self, models: Iterable[str]) -> None:
        """Unload models that nobody asked for and no ensemble uses any more."""
        for model in models:
            serves = self._catalog.versions(model)
            if not serves or model in self._asked or self._of(model):
                continue
            nested = self.models_of(model)
            self._control.take_down(model)
            self.drop_unused(nested)

    def models_of(self, ensemble: str) -> list[str]:
        """Return the models of an ensemble that is wanted; none of anything else."""
        taken = self._wanted.get(ensemble)
        return sorted(composing_models(taken.directory.config())) if taken else []

    def _of(self, model: str) -> list[str]:
        """Return the ensembles that are wanted and have a model."""
        return sorted(name for name in self._wanted if model in self.models_of(name))


def _failed(name: str, error: ModelLoadError) -> Composing:
    """Return what became of a model that does not serve."""
    text = error.message.removeprefix(f"load failed for model '{name}': ")
    text = text.removesuffix("\n")
    if error.stage == "dependency":
        return Composing(invalid=text)
    return Composing(failure=text)
