"""EnsembleMaker: from an ensemble's configuration to what answers its requests."""

from __future__ import annotations

from blsnb.engine.engine import Engine
from blsnb.engine.ensemble import ServedEnsemble
from blsnb.engine.loading.ensembles import Ensembles
from blsnb.engine.loading.load_failures import dependency_failed
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.scheduling.ensembles.plan import EnsemblePlan
from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.rules.dependencies import composing_models, validate_ensemble
from blsnb.model.rules.ensembles import ENSEMBLE
from blsnb.model.rules.validate import validate_create
from blsnb.pb_utils.compiled.releases import has
from blsnb.repository.directory import ModelDirectory
from blsnb.trace.events import ModelInfo


class EnsembleMaker:
    """Makes the versions of ensembles.

    Parameters
    ----------
    engine
        Runs the requests of steps.
    ensembles
        Loads the models that an ensemble is made of.
    """

    def __init__(self, engine: Engine, ensembles: Ensembles) -> None:
        self._engine = engine
        self._ensembles = ensembles
        self._waits_with_errors = has("ensemble_waits_with_errors", engine.release)

    def complete(self, config: ModelConfig, root: RootRequest) -> ModelConfig:
        """Load the models of an ensemble, and return what follows from them.

        Raises
        ------
        ModelLoadError
            At stage ``dependency``: a model is missing, or does not fit.
        """
        try:
            return validate_ensemble(config, self._ensembles.composing(config, root))
        except ModelConfigError as error:
            raise dependency_failed(config.name, error.message, error.advice) from error

    def make(
        self, directory: ModelDirectory, config: ModelConfig, number: int
    ) -> ServedEnsemble:
        """Make a version of an ensemble.

        Raises
        ------
        ModelConfigError
            At stage ``create``.
        """
        validate_create(config, model_dir=directory.path)
        return ServedEnsemble(
            config,
            ModelInfo(config.name, number, ENSEMBLE, "cpu", "model", ""),
            EnsemblePlan(config, self._models(config)),
            self._engine.router,
            self._engine.workers,
            self._waits_with_errors,
            self._engine.cache,
            self._engine.placements.of(config),
        )

    def _models(self, config: ModelConfig) -> dict[tuple[str, int], ModelConfig]:
        return {
            (name, number): self._engine.catalog.find(name, number).config
            for name, numbers in composing_models(config).items()
            for number in numbers
        }
