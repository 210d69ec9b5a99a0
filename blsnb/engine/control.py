"""ModelControl: loading and unloading by name, as clients and models ask for it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blsnb.engine.control_mode import ControlMode
from blsnb.engine.ensembles import Ensembles, Taken
from blsnb.engine.load_failures import poll_failed
from blsnb.engine.override_folders import OverrideFolders
from blsnb.engine.root import RootRequest, Unwind
from blsnb.errors import ModelConfigError, ModelLoadError, WouldHang
from blsnb.model.config import ModelConfig, parse_json
from blsnb.model.lint import advised
from blsnb.pb_utils.releases import has
from blsnb.repository.directory import (
    Files,
    ModelDirectory,
    is_version_changed,
    newest_ns,
)
from blsnb.repository.repository import ModelRepository

if TYPE_CHECKING:
    from blsnb.engine.engine import Engine

ConfigOverride = str | Mapping[str, Any] | ModelConfig
"""JSON text, the same as a dict, or a configuration."""


class ModelControl:
    """Loads models from the repository, or from what takes a folder's place.

    An override lasts until the model is unloaded or a file of its folder becomes
    newer; the repository never learns of it.

    Parameters
    ----------
    engine
        Makes the models serve.
    repository
        Where their folders are.

    References
    ----------
    core: src/model_repository_manager.cc, LoadUnloadModel
    """

    def __init__(self, engine: Engine, repository: ModelRepository) -> None:
        self._engine = engine
        self._repository = repository
        self._folders = OverrideFolders()
        self.ensembles = Ensembles(engine, self)
        self.mode = ControlMode.EXPLICIT
        self._files: dict[str, Files] = {}
        """The files of what serves, as they were when it was loaded, by model."""
        self._paths: dict[str, Path] = {}
        """The folders in which these are."""
        self._overridden: set[str] = set()
        """Models that serve with what was given with the load."""
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
            _check_name(name)
        self.bring_up(name, config, files, root=root)

    def polled(self, name: str) -> ModelConfig | None:
        """Return the configuration of a model in the repository, if it is right."""
        try:
            return self._engine.loader.poll(self._directory(name, None, None))
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
        if self._engine.load_lock.is_held_for(name):
            _refuse_circle(name, root)
        with self._engine.load_lock.hold(name):
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
        config = self._engine.loader.poll(taken.directory)
        if config.is_ensemble:
            before = self._engine.catalog.versions(config.name).values()
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
        with self._engine.load_lock.hold(taken.directory.name):
            self._load(taken, root)
            self.ensembles.renew(taken.directory.name, root)

    def folders(self) -> tuple[Path, ...]:
        """Return the folders in which the files of models are."""
        return (*self._repository.folders, *self._folders.folders)

    def files(self, name: str) -> Files:
        """Return the files that a model was loaded from; none if it does not serve."""
        return self._files.get(name, {})

    def serving(self) -> list[str]:
        """Return the names of the models that serve."""
        return self._engine.catalog.names()

    def _is_new(self, name: str, found: Files) -> bool:
        if not self._engine.catalog.versions(name):
            return True
        return newest_ns(found) > newest_ns(self.files(name))

    def _unchanged(self, taken: Taken) -> set[int]:
        """Return the versions whose files are those from which they were loaded."""
        directory, name = taken.directory, taken.directory.name
        if self._paths.get(name) != directory.path:
            return set()
        before, config = self.files(name), directory.config_file
        entry = config.relative_to(directory.path).parts[0]
        return {
            number
            for number in self._engine.catalog.versions(name)
            if not is_version_changed(number, before, taken.files, entry)
        }

    def _load(
        self, taken: Taken, root: RootRequest | None, always: bool = True
    ) -> None:
        directory = taken.directory
        name, start = directory.name, time.perf_counter()
        catalog = self._engine.catalog
        before, states = catalog.versions(name).values(), catalog.states(name)
        try:
            unchanged = set() if always else self._unchanged(taken)
            self._engine.load(directory, root, unchanged)
        except ModelLoadError as error:
            if error.reasons is not None:
                catalog.put_failures(name, states, error.reasons)
            count = self._engine.placements.gpu_count
            error.advice = _with_findings(error.advice, directory, count)
            raise
        self.seconds[name] = time.perf_counter() - start
        self._files[name] = taken.files
        self._paths[name] = directory.path
        change = self._overridden.add if taken.overridden else self._overridden.discard
        change(name)
        config = catalog.config(name)
        if config is not None:
            self.ensembles.take(taken, config)
        self._folders.use(name, directory.path, before)

    def is_overridden(self, name: str) -> bool:
        """Whether a model serves with something else than its folder holds."""
        return name in self._overridden

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
        with self._engine.load_lock.hold(name):
            if not wanted:
                self.ensembles.forget(name)
                self._engine.loader.makers.standins.end(name)
            self.ensembles.take_down(name)
            before = self._engine.catalog.versions(name).values()
            self._engine.unload(name)
            self._files.pop(name, None)
            self._paths.pop(name, None)
            self._overridden.discard(name)
            if not wanted:
                self._folders.leave(name, before)

    def close(self) -> None:
        """Remove what overrides wrote."""
        self._folders.close()


def _check_name(name: str) -> None:
    """Refuse to load what is no name.

    Raises
    ------
    ModelLoadError
        The name is empty, or a path; the text is Triton's.
    """
    text = ""
    if not name:
        text = "Model name cannot be empty. Please enter a valid name to deploy."
    elif "/" in name or name == "..":
        text = (
            f"invalid model name '{name}', model name must not contain path traversal "
            "characters"
        )
    if text:
        raise ModelLoadError(text, stage="poll")


def _with_findings(advice: str, directory: ModelDirectory, gpu_count: int) -> str:
    """Return advice, and what is odd in the configuration that did not load."""
    try:
        found = advised(directory.config(), gpu_count=gpu_count)
    except ModelConfigError:
        # It could not be read, which the advice is about.
        found = ""
    return "\n".join(filter(None, (advice, found)))


def _refuse_circle(name: str, root: RootRequest | None) -> None:
    """End a load that waits for itself.

    Raises
    ------
    Unwind, ModelLoadError
        Always.
    """
    hang = WouldHang(
        f"Triton would wait for ever: loading {name!r} calls initialize(), which "
        f"calls pb_utils.load_model({name!r}), which waits until {name!r} is loaded. "
        "Call load_model() in execute(), or load the models one after the other from "
        "outside."
    )
    if root is None:
        raise ModelLoadError(hang.message, code="INTERNAL")
    root.end(hang)
    raise Unwind
