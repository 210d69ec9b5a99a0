"""Load and unload models by name, for clients, models and the server itself."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager

from blsnb.engine.engine import Engine
from blsnb.engine.loading.ensembles import EnsembleMaker, Ensembles
from blsnb.engine.loading.instance_factory import InstanceFactory
from blsnb.engine.loading.load_failures import (
    check_name,
    refuse_circle,
    refuse_crossed,
    with_findings,
)
from blsnb.engine.loading.load_lock import ALL_MODELS, CrossedLoads, Names
from blsnb.engine.loading.load_runner import LoadRunner
from blsnb.engine.loading.loader import Loader
from blsnb.engine.loading.model_sources import (
    ConfigOverride,
    ModelSource,
    ModelSources,
)
from blsnb.engine.loading.override_folders import OverrideFolders
from blsnb.engine.model_log import ModelLog
from blsnb.engine.request.lifetime import RootRequest
from blsnb.errors import ModelLoadError
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.compiled.releases import has
from blsnb.repository.repository import ModelRepository


class ModelControl:
    """Loads models from the repository, or from overrides, and unloads them.

    An override lasts until the model is unloaded or a file of its folder becomes
    newer; the repository itself never changes.

    Parameters
    ----------
    engine
        Runs requests on the models that serve.
    repository
        The models' folders.
    folders
        The temporary folders of overrides.
    log
        Receives log lines and notes about models.

    References
    ----------
    core: src/model_repository_manager.cc, LoadUnloadModel
    """

    def __init__(
        self,
        engine: Engine,
        repository: ModelRepository,
        folders: OverrideFolders,
        log: ModelLog,
    ) -> None:
        self._engine = engine
        self._catalog = engine.catalog
        self._folders = folders
        self.sources = ModelSources(engine.catalog, repository, folders)
        """The folders and files from which models serve."""
        self.ensembles = Ensembles(engine.catalog, self, log.note)
        factory = InstanceFactory(engine, self, log.write)
        self._loader = Loader(engine, factory, EnsembleMaker(engine, self.ensembles))
        self._runner = LoadRunner(engine, self._loader)
        self.standins = factory.standins
        self.origins = self._loader.origins
        self.is_explicit = True
        """Whether clients and models may load and unload models by name."""
        self.seconds: dict[str, float] = {}
        """Duration of the last load of each model."""

    def load(
        self,
        name: str,
        config: ConfigOverride | None = None,
        files: Mapping[str, bytes] | None = None,
        *,
        root: RootRequest | None = None,
    ) -> None:
        """Load a model for a client or for another model.

        Parameters
        ----------
        config
            Replaces the folder's ``config.pbtxt``.
        files
            Replace the folder: contents by ``file:`` and a path in it.
        root
            The request or the load of which this load is part.

        Raises
        ------
        ModelLoadError
            With the text of Triton's load call; the former versions still serve.
        Unwind
            The request or load of which this load is part has ended.
        """
        self._check_explicit()
        self._check_name(name)
        self.bring_up(name, config, files, root=root)

    def unload(self, name: str, *, unload_dependents: bool = False) -> None:
        """Stop serving a model for a client or for another model.

        Parameters
        ----------
        unload_dependents
            Whether to unload an ensemble's models, too, unless they were loaded by
            name or belong to another ensemble.

        Raises
        ------
        ModelLoadError
            The control mode does not allow it; the text is Triton's.
        """
        self._check_explicit()
        self._check_name(name)
        models = self.ensembles.models_of(name)
        self.take_down(name)
        if unload_dependents:
            self.ensembles.unload_unused(models)

    def _check_name(self, name: str) -> None:
        if has("checked_model_names", self._engine.release):
            check_name(name)

    def _check_explicit(self) -> None:
        if not self.is_explicit:
            raise ModelLoadError(
                "explicit model load / unload is not allowed if polling is enabled",
                code="UNAVAILABLE",
                advice='Make the server with model_control_mode="explicit".',
            )

    def bring_up(
        self,
        name: str,
        config: ConfigOverride | None = None,
        files: Mapping[str, bytes] | None = None,
        *,
        always: bool = False,
        root: RootRequest | None = None,
        by_name: bool = True,
    ) -> bool:
        """Load a model if it does not serve or its files are newer.

        Parameters
        ----------
        config, files, root
            As for `load`.
        always
            Whether to load a model whose files are unchanged, too.
        by_name
            Whether the model is loaded by name, not as part of an ensemble.

        Returns
        -------
        bool
            Whether it was loaded.

        Raises
        ------
        ModelLoadError, Unwind
            As `load` does.
        """
        __tracebackhide__ = True
        if self.is_loading(name):
            refuse_circle(name, root)
        with self._hold(name, config, root):
            source = self.sources.find(name, config, files)
            if always or config is not None or self.sources.is_newer(source):
                if by_name:
                    self.ensembles.note_loaded_by_name(name)
                self._load_with_ensembles(source, root, always)
                return True
        self.ensembles.refresh_models(name, root)
        return False

    @contextlib.contextmanager
    def _hold(
        self,
        name: str,
        config: ConfigOverride | None = None,
        root: RootRequest | None = None,
    ) -> Iterator[None]:
        """Keep other loads from a model, its ensembles, and their models."""

        def related() -> Names:
            return self.ensembles.related(name, self.sources.steps(name, config))

        try:
            with self._runner.lock.hold(name, related=related):
                yield
        except CrossedLoads as error:
            refuse_crossed(error.name, root)

    def _load_with_ensembles(
        self, source: ModelSource, root: RootRequest | None, always: bool
    ) -> None:
        try:
            self._load(source, root, always)
        except ModelLoadError as error:
            is_misfit = error.stage == "dependency" and error.reasons is None
            if is_misfit and not always:
                self._keep_wanted(source)
            raise
        finally:
            self._folders.discard_unused(source.directory.path)
        self.ensembles.reload_with(source.directory.name, root)

    def _keep_wanted(self, source: ModelSource) -> None:
        """Keep an ensemble wanted although its models do not fit.

        Its former versions no longer serve.
        """
        config = self._loader.poll(source.directory)
        if config.is_ensemble:
            before = self._catalog.versions(config.name).values()
            self.ensembles.note_source(source, config)
            self.take_down(config.name, wanted=True)
            self.sources.keep_folder(source, before)

    def reload_ensemble(self, source: ModelSource, root: RootRequest | None) -> None:
        """Load an ensemble from its last source, not from its present folder.

        Raises
        ------
        ModelLoadError, Unwind
            As `load` does.
        """
        name = source.directory.name
        with self._hold(name, root=root):
            self._load(source, root)
            self.ensembles.reload_with(name, root)

    def _load(
        self, source: ModelSource, root: RootRequest | None, always: bool = True
    ) -> None:
        directory = source.directory
        name, start = directory.name, time.perf_counter()
        catalog = self._catalog
        before, states = catalog.versions(name).values(), catalog.states(name)

        def note() -> None:
            self.seconds[name] = time.perf_counter() - start
            if (config := catalog.config(name)) is not None:
                self.ensembles.note_source(source, config)
            self.sources.note_serving(source, before)

        try:
            unchanged = set() if always else self.sources.unchanged_versions(source)
            self._runner.load(directory, root, unchanged, note)
        except ModelLoadError as error:
            if error.reasons is not None:
                catalog.put_failures(name, states, error.reasons)
            count = self._engine.placements.gpu_count
            error.advice = with_findings(error.advice, directory, count)
            raise

    def take_down(self, name: str, *, wanted: bool = False) -> None:
        """Stop serving a model; requests in flight are finished first.

        Parameters
        ----------
        wanted
            Whether to load it again as soon as its models fit.
        """
        with self._hold(name):
            if not wanted:
                self.ensembles.forget(name)
                self.standins.pop(name, None)
            self.ensembles.take_down_with(name)
            before = self._catalog.versions(name).values()
            self._runner.unload(name)
            self.sources.note_unloaded(name)
            if not wanted:
                self._folders.leave(name, before)

    def polled(self, name: str) -> ModelConfig | None:
        """Return the configuration of a model in the repository; None if invalid."""
        try:
            return self._loader.poll(self.sources.find(name).directory)
        except ModelLoadError:
            return None

    def alone(self) -> AbstractContextManager[None]:
        """Exclude loads and unloads on other threads.

        Held while folders change, so that no load reads a half-changed folder.
        """
        return self._runner.lock.hold(ALL_MODELS)

    @property
    def is_busy(self) -> bool:
        """Whether a model is being loaded or unloaded."""
        return self._runner.lock.is_busy

    def is_loading(self, name: str) -> bool:
        """Whether the caller is part of a load of this model."""
        return self._runner.lock.is_held_for(name)

    def reload(self, name: str) -> ModelLoadError | None:
        """Reload a model, even if its files are unchanged; return its failure."""
        try:
            self.bring_up(name, always=True)
        except ModelLoadError as error:
            return error
        return None

    def serving(self) -> list[str]:
        """Return the names of the models that serve."""
        return self._catalog.names()

    def close(self, timeout_s: float) -> None:
        """Finish requests, unload all models, and remove the overrides' folders.

        Parameters
        ----------
        timeout_s
            Time for all requests in flight together.
        """
        try:
            self._runner.close(timeout_s)
        finally:
            self._folders.close()
