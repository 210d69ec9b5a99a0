"""ModelControl: loading and unloading by name, as clients and models ask for it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from blsnb.engine.engine import Engine
from blsnb.engine.loading.binder import Binder, ModelLogWriter
from blsnb.engine.loading.control_mode import ControlMode
from blsnb.engine.loading.ensemble_version import EnsembleMaker
from blsnb.engine.loading.ensembles import Ensembles, Taken
from blsnb.engine.loading.instance_factory import Makers
from blsnb.engine.loading.load_failures import poll_failed
from blsnb.engine.loading.loader import Loader
from blsnb.engine.loading.loads import Loads
from blsnb.engine.loading.override_folders import OverrideFolders
from blsnb.engine.loading.refusals import check_name, refuse_circle
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.served import Served
from blsnb.errors import ModelConfigError, ModelLoadError
from blsnb.model.config import ModelConfig, parse_json
from blsnb.model.rules.lint import advised
from blsnb.pb_utils.compiled.releases import has
from blsnb.repository.directory import (
    Files,
    ModelDirectory,
    is_version_changed,
    newest_ns,
)
from blsnb.repository.repository import ModelRepository

ConfigOverride = str | Mapping[str, Any] | ModelConfig
"""JSON text, the same as a dict, or a configuration."""


class ModelControl:
    """Loads models from the repository, or from what takes a folder's place.

    An override lasts until the model is unloaded or a file of its folder becomes
    newer; the repository never learns of it.

    Parameters
    ----------
    engine
        Runs requests on what serves.
    repository
        Where the models' folders are.
    folders
        Those that overrides make.
    log
        Writes the models' log.

    References
    ----------
    core: src/model_repository_manager.cc, LoadUnloadModel
    """

    def __init__(
        self,
        engine: Engine,
        repository: ModelRepository,
        folders: OverrideFolders,
        log: ModelLogWriter,
    ) -> None:
        self._engine = engine
        self._catalog = engine.catalog
        self._repository = repository
        self._folders = folders
        self.ensembles = Ensembles(engine.catalog, self, log)
        makers = Makers(engine, Binder(engine, self, log))
        self._loader = Loader(engine, makers, EnsembleMaker(engine, self.ensembles))
        self._loads = Loads(engine, self._loader)
        self.standins = makers.standins
        self.origins = self._loader.origins
        self.mode = ControlMode.EXPLICIT
        self._serving: dict[str, Taken] = {}
        """What each model that serves was loaded from."""
        self.seconds: dict[str, float] = {}
        """How long the last load of each model took."""

    def load(
        self,
        name: str,
        config: ConfigOverride | None = None,
        files: Mapping[str, bytes] | None = None,
        *,
        root: RootRequest | None = None,
    ) -> None:
        """Load a model because a client or a model asks for it.

        Parameters
        ----------
        config
            Replaces the folder's ``config.pbtxt``.
        files
            Replace the folder: contents by ``file:`` and a path in it.
        root
            The request or the load that asks for it.

        Raises
        ------
        ModelLoadError
            With the text of Triton's load call; what served still does.
        Unwind
            The request that asks has ended.
        """
        self._check_explicit()
        if has("checked_model_names", self._engine.release):
            check_name(name)
        self.bring_up(name, config, files, root=root)

    def polled(self, name: str) -> ModelConfig | None:
        """Return the configuration of a model in the repository, if it is right."""
        try:
            return self._loader.poll(self._directory(name, None, None))
        except ModelLoadError:
            return None

    def _check_explicit(self) -> None:
        if self.mode is not ControlMode.EXPLICIT:
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
        asked: bool = True,
    ) -> bool:
        """Load a model, or load it anew if anything of it is new.

        Parameters
        ----------
        config, files, root
            As `load` takes them.
        always
            Whether a model whose files are as they were is loaded, too.
        asked
            Whether it is loaded for its own sake, not as a part of an ensemble.

        Returns
        -------
        bool
            Whether it was loaded.

        Raises
        ------
        ModelLoadError
            With the text of Triton's load call; what served still does.
        Unwind
            The request that asks has ended.
        """
        if self.is_loading(name):
            refuse_circle(name, root)
        with self._loads.lock.hold(name):
            directory = self._directory(name, config, files)
            found = directory.files()
            if always or config is not None or self._is_new(name, found):
                if asked:
                    self.ensembles.ask(name)
                self._bring_up(directory, found, root, always)
                return True
        self.ensembles.refresh(name, root)
        return False

    def _bring_up(
        self,
        directory: ModelDirectory,
        found: Files,
        root: RootRequest | None,
        always: bool,
    ) -> None:
        given = directory.override is not None or self._folders.has(directory.path)
        taken = Taken(directory, found, given)
        try:
            self._load(taken, root, always)
        except ModelLoadError as error:
            fits_not = error.stage == "dependency" and error.reasons is None
            if fits_not and not always:
                self._take_refused(taken)
            raise
        finally:
            # A folder from which nothing serves, now or when its models fit.
            self._folders.discard_unused(directory.path)
        self.ensembles.renew(directory.name, root)

    def _take_refused(self, taken: Taken) -> None:
        """Let an ensemble that its models do not fit wait for some that do.

        What served before does not any more.
        """
        config = self._loader.poll(taken.directory)
        if config.is_ensemble:
            before = self._catalog.versions(config.name).values()
            self.ensembles.take(taken, config)
            self.take_down(config.name, wanted=True)
            self._folders.use(config.name, taken.directory.path, before)

    def renew(self, taken: Taken, root: RootRequest | None) -> None:
        """Load an ensemble as it was taken up, whatever its folder holds by now.

        Raises
        ------
        ModelLoadError
            With the text of Triton's load call.
        Unwind
            The request that asks has ended.
        """
        with self._loads.lock.hold(taken.directory.name):
            self._load(taken, root)
            self.ensembles.renew(taken.directory.name, root)

    def alone(self) -> AbstractContextManager[None]:
        """Let no other thread load or unload a model meanwhile.

        Whoever changes folders holds this: no load reads one between two states.
        """
        return self._loads.lock.hold("")

    def files(self, name: str) -> Files:
        """Return the files that a model was loaded from; none if it does not serve."""
        taken = self._serving.get(name)
        return {} if taken is None else taken.files

    def serving(self) -> list[str]:
        """Return the names of the models that serve."""
        return self._catalog.names()

    def _is_new(self, name: str, found: Files) -> bool:
        if not self._catalog.versions(name):
            return True
        return newest_ns(found) > newest_ns(self.files(name))

    def _unchanged(self, taken: Taken) -> set[int]:
        """Return the versions whose files are those from which they were loaded."""
        directory, name = taken.directory, taken.directory.name
        served = self._serving.get(name)
        if served is None or served.directory.path != directory.path:
            return set()
        before, config = served.files, directory.config_file
        entry = config.relative_to(directory.path).parts[0]
        return {
            number
            for number in self._catalog.versions(name)
            if not is_version_changed(number, before, taken.files, entry)
        }

    def _load(
        self, taken: Taken, root: RootRequest | None, always: bool = True
    ) -> None:
        directory = taken.directory
        name, start = directory.name, time.perf_counter()
        catalog = self._catalog
        before, states = catalog.versions(name).values(), catalog.states(name)
        try:
            unchanged = set() if always else self._unchanged(taken)

            def note() -> None:
                self.seconds[name] = time.perf_counter() - start
                self._note(taken, before)

            self._loads.load(directory, root, unchanged, note)
        except ModelLoadError as error:
            if error.reasons is not None:
                catalog.put_failures(name, states, error.reasons)
            count = self._engine.placements.gpu_count
            error.advice = _with_findings(error.advice, directory, count)
            raise

    def _note(self, taken: Taken, before: Iterable[Served]) -> None:
        """Note what a model serves from, instead of the versions before."""
        name = taken.directory.name
        self._serving[name] = taken
        config = self._catalog.config(name)
        if config is not None:
            self.ensembles.take(taken, config)
        self._folders.use(name, taken.directory.path, before)

    def is_overridden(self, name: str) -> bool:
        """Whether a model serves with something else than its folder holds."""
        taken = self._serving.get(name)
        return taken is not None and taken.overridden

    def served_from(self, name: str) -> ModelDirectory | None:
        """Return what a model serves from; None if it does not serve."""
        taken = self._serving.get(name)
        return None if taken is None else taken.directory

    def is_loading(self, name: str) -> bool:
        """Whether whoever asks is part of a load of this model."""
        return self._loads.lock.is_held_for(name)

    def _directory(
        self,
        name: str,
        config: ConfigOverride | None,
        files: Mapping[str, bytes] | None,
    ) -> ModelDirectory:
        if files:
            override = self._override(name, config)
            if override is None:
                reason = "Load parameter 'config' must be specified for model file "
                raise poll_failed(name, f"{reason}override")
            return ModelDirectory(self._written(name, override, files), name)
        folder = self._repository.directory(name)
        if folder is None:
            raise poll_failed(name, *self._repository.why_none(name))
        return replace(folder, model=name, override=self._override(name, config))

    def _override(self, name: str, config: ConfigOverride | None) -> ModelConfig | None:
        if config is None or isinstance(config, ModelConfig):
            return config
        try:
            return parse_json(config)
        except ModelConfigError as error:
            raise poll_failed(name, error.message, error.advice) from error

    def _written(
        self, name: str, config: ModelConfig, files: Mapping[str, bytes]
    ) -> Any:
        try:
            return self._folders.write(config, files)
        except (OSError, ValueError) as error:
            raise poll_failed(name, str(error)) from error

    def unload(self, name: str, *, unload_dependents: bool = False) -> None:
        """Stop serving a model because a client or a model asks for it.

        Parameters
        ----------
        unload_dependents
            Whether the models of an ensemble go with it: those that nobody loaded
            for their own sake, and no other ensemble has.

        Raises
        ------
        ModelLoadError
            The mode does not allow it; the text is Triton's.
        """
        self._check_explicit()
        models = self.ensembles.models_of(name)
        self.take_down(name)
        if unload_dependents:
            self.ensembles.drop_unused(models)

    def take_down(self, name: str, *, wanted: bool = False) -> None:
        """Stop serving a model; requests in flight are finished first.

        Parameters
        ----------
        wanted
            Whether it is to come back as soon as it can.
        """
        with self._loads.lock.hold(name):
            if not wanted:
                self.ensembles.forget(name)
                self.standins.end(name)
            self.ensembles.take_down(name)
            before = self._catalog.versions(name).values()
            self._loads.unload(name)
            self._serving.pop(name, None)
            if not wanted:
                self._folders.leave(name, before)

    def close(self, timeout_s: float) -> None:
        """Finish what runs, unload everything, and remove what overrides wrote.

        Parameters
        ----------
        timeout_s
            How long requests that are on their way may go on, all of them together.
        """
        self._loads.close(timeout_s)
        self._folders.close()


def _with_findings(advice: str, directory: ModelDirectory, gpu_count: int) -> str:
    """Return advice, and what is odd in the configuration that did not load."""
    try:
        found = advised(directory.config(), gpu_count=gpu_count)
    except ModelConfigError:
        # It could not be read, which the advice is about.
        found = ""
    return "\n".join(filter(None, (advice, found)))
