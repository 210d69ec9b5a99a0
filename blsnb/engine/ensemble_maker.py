"""EnsembleMaker: from an ensemble's configuration to what answers its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blsnb.engine.ensemble import ServedEnsemble
from blsnb.engine.ensemble_request import StepRouter
from blsnb.engine.load_failures import dependency_failed
from blsnb.engine.placement import Placements
from blsnb.engine.response_cache import ResponseCache
from blsnb.engine.root import RootRequest
from blsnb.engine.workers import Workers
from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.dependency_rules import composing_models, validate_ensemble
from blsnb.model.ensemble_rules import ENSEMBLE
from blsnb.model.validate import validate_create
from blsnb.pb_utils.releases import Release, has
from blsnb.repository.directory import ModelDirectory
from blsnb.scheduling.ensemble_plan import EnsemblePlan
from blsnb.trace.events import ModelInfo

if TYPE_CHECKING:
    from blsnb.engine.catalog import Catalog
    from blsnb.engine.ensembles import Ensembles


class EnsembleMaker:
    """Makes the versions of ensembles.

    Parameters
    ----------
    ensembles
        Loads the models that an ensemble is made of.
    catalog
        Has the models that serve.
    router
        Runs the requests of steps.
    workers
        Run steps side by side.
    placements
        Where tensors are, and who moves them.
    """

    def __init__(
        self,
        ensembles: Ensembles,
        catalog: Catalog,
        router: StepRouter,
        workers: Workers,
        cache: ResponseCache | None,
        release: Release,
        placements: Placements,
    ) -> None:
        self._ensembles = ensembles
        self._catalog = catalog
        self._router = router
        self._workers = workers
        self._cache = cache
        self._placements = placements
        self._waits_with_errors = has("ensemble_waits_with_errors", release)

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
            self._router,
            self._workers,
            self._waits_with_errors,
            self._cache,
            self._placements.of(config),
        )

    def _models(self, config: ModelConfig) -> dict[tuple[str, int], ModelConfig]:
        return {
            (name, number): self._catalog.find(name, number).config
            for name, numbers in composing_models(config).items()
            for number in numbers
        }
