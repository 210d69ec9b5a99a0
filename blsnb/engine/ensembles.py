"""Ensembles: what the load or unload of one model means for others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from blsnb.engine.root import RootRequest
from blsnb.errors import ModelConfigError, ModelLoadError
from blsnb.model.config import ModelConfig
from blsnb.model.dependency_rules import Composing, composing_models, find_faults

if TYPE_CHECKING:
    from blsnb.engine.control import ModelControl
    from blsnb.engine.engine import Engine


class Ensembles:
    """Which ensembles are wanted, and of which models they are made.

    An ensemble stays wanted when a model of it is unloaded or does not fit any
    more: it goes down with it, and comes back with it.

    References
    ----------
    core: src/model_repository_manager/model_repository_manager.cc,
    LoadUnloadModels, DependencyGraph
    """

    def __init__(self, engine: Engine, control: ModelControl) -> None:
        self._engine = engine
        self._control = control
        self._models: dict[str, frozenset[str]] = {}
        """Models of each ensemble that is wanted."""
        self._asked: set[str] = set()
        """What was loaded for its own sake."""

    def ask(self, name: str) -> None:
        """Note that a model was loaded for its own sake."""
        self._asked.add(name)

    def forget(self, name: str) -> None:
        """Note that a model was unloaded, and is not wanted any more."""
        self._asked.discard(name)
        self._models.pop(name, None)

    def composing(
        self, config: ModelConfig, root: RootRequest | None
    ) -> dict[str, Composing]:
        """Load the models of an ensemble that do not serve; say what became of each.

        Raises
        ------
        ModelConfigError
            At stage ``dependency``: a model is nowhere, or the ensembles go round
            in a circle.
        """
        self._check_circles(config)
        models = composing_models(config)
        self._models[config.name] = frozenset(models)
        return {name: self._composing(name, root) for name in models}

    def _check_circles(self, config: ModelConfig) -> None:
        configs = {config.name: config}
        self._read(config, configs)
        reason = find_faults(configs, list(configs)).get(config.name)
        if reason is not None:
            raise ModelConfigError(reason, stage="dependency")

    def _read(self, config: ModelConfig, configs: dict[str, ModelConfig]) -> None:
        """Read the configurations of an ensemble's models, and of theirs."""
        for name in composing_models(config):
            if name in configs:
                continue
            found = self._engine.catalog.config(name) or self._control.polled(name)
            if found is not None:
                configs[name] = found
                self._read(found, configs)

    def _composing(self, name: str, root: RootRequest | None) -> Composing:
        if not self._engine.catalog.versions(name):
            try:
                self._control.bring_up(name, root=root, asked=False)
            except ModelLoadError as error:
                prefix = f"load failed for model '{name}': "
                text = error.message.removeprefix(prefix).removesuffix("\n")
                if error.stage == "dependency":
                    return Composing(invalid=text)
                return Composing(failure=text)
        versions = self._engine.catalog.versions(name)
        return Composing({number: each.config for number, each in versions.items()})

    def renew(self, name: str, root: RootRequest | None) -> None:
        """Load anew the ensembles of which a model that was loaded is a part.

        One that it does not fit any more goes down.
        """
        for ensemble in self._of(name):
            if self._engine.load_lock.is_held_for(ensemble):
                continue
            try:
                self._control.bring_up(ensemble, always=True, root=root, asked=False)
            except ModelLoadError as error:
                self._engine.log(ensemble, "ERROR", error.message, __file__, 0)
                self._control.take_down(ensemble, wanted=True)

    def take_down(self, name: str) -> None:
        """Take down the ensembles of which a model is a part that was unloaded."""
        for ensemble in self._of(name):
            if self._engine.catalog.versions(ensemble):
                self._control.take_down(ensemble, wanted=True)

    def drop_unused(self, models: Iterable[str]) -> None:
        """Unload models that nobody asked for and no ensemble uses any more."""
        for model in models:
            serves = self._engine.catalog.versions(model)
            if not serves or model in self._asked or self._of(model):
                continue
            nested = self.models_of(model)
            self._control.take_down(model)
            self.drop_unused(nested)

    def models_of(self, ensemble: str) -> list[str]:
        """Return the models of an ensemble that is wanted; none of anything else."""
        return sorted(self._models.get(ensemble, ()))

    def _of(self, model: str) -> list[str]:
        """Return the ensembles that are wanted and have a model."""
        return sorted(name for name, models in self._models.items() if model in models)
