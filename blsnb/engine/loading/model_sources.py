"""The folders, overrides and files from which models are loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from blsnb.engine.catalog import Catalog
from blsnb.engine.loading.load_failures import poll_failed
from blsnb.engine.loading.override_folders import OverrideFolders
from blsnb.engine.served import Served
from blsnb.errors import ModelConfigError, ModelLoadError
from blsnb.model.config import ModelConfig, parse_json
from blsnb.model.rules.dependencies import composing_models
from blsnb.repository.directory import (
    Files,
    ModelDirectory,
    is_version_changed,
    newest_ns,
    sources,
)
from blsnb.repository.repository import ModelRepository

ConfigOverride = str | Mapping[str, Any] | ModelConfig
"""JSON text, the same as a dict, or a configuration."""


class ModelSource(NamedTuple):
    """The folder from which a model is loaded, with its files at that time."""

    directory: ModelDirectory
    files: Files
    is_overridden: bool
    """Whether the configuration or the files differ from the model's own folder."""
    has_given_files: bool = False
    """Whether the load brought the files with it."""

    @property
    def dated_files(self) -> Files:
        """The files with a time of change; for Triton given files have none."""
        return {} if self.has_given_files else self.files


class ModelSources:
    """Finds the sources of models, and knows those of the serving models.

    Parameters
    ----------
    catalog
        The serving versions.
    repository
        The models' own folders.
    folders
        Temporary folders of models that are loaded from files in memory.
    """

    def __init__(
        self, catalog: Catalog, repository: ModelRepository, folders: OverrideFolders
    ) -> None:
        self._catalog = catalog
        self._repository = repository
        self._folders = folders
        self._serving: dict[str, ModelSource] = {}

    def find(
        self,
        name: str,
        config: ConfigOverride | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> ModelSource:
        """Return the source for a load.

        Parameters
        ----------
        config
            Replaces the folder's ``config.pbtxt``.
        files
            Replace the folder: contents by ``file:`` and a path in it.

        Raises
        ------
        ModelLoadError
            At stage ``poll``: there is no such folder, or an argument is invalid.
        """
        __tracebackhide__ = True
        directory = self._directory(name, config, files)
        is_overridden = directory.override is not None or bool(files)
        return ModelSource(directory, directory.files(), is_overridden, bool(files))

    def _directory(
        self,
        name: str,
        config: ConfigOverride | None,
        files: Mapping[str, bytes] | None,
    ) -> ModelDirectory:
        __tracebackhide__ = True
        if files:
            override = _parsed(name, config)
            if override is None:
                reason = "Load parameter 'config' must be specified for model file "
                raise poll_failed(name, f"{reason}override")
            try:
                path = self._folders.write(override, files)
            except (OSError, ValueError) as error:
                raise poll_failed(name, str(error)) from error
            return ModelDirectory(path, name, override)
        folder = self._repository.directory(name)
        if folder is None:
            raise poll_failed(name, *self._repository.why_none(name))
        return folder._replace(model=name, override=_parsed(name, config))

    def steps(self, name: str, config: ConfigOverride | None = None) -> list[str]:
        """Return the models that a model uses as an ensemble; none if it is invalid.

        Parameters
        ----------
        config
            Replaces the folder's ``config.pbtxt``.
        """
        folder = self._repository.directory(name)
        try:
            override = _parsed(name, config)
            if override is None and folder is not None:
                override = folder.config()
        except (ModelConfigError, ModelLoadError):
            return []
        return [] if override is None else [*composing_models(override)]

    def files(self, name: str) -> Files:
        """Return the files from which a serving model was loaded, else no files."""
        source = self._serving.get(name)
        return {} if source is None else source.files

    def folder(self, name: str) -> ModelDirectory | None:
        """Return the folder from which a model serves; None if it does not serve."""
        source = self._serving.get(name)
        return None if source is None else source.directory

    def is_overridden(self, name: str) -> bool:
        """Whether a model serves from an override instead of its own folder."""
        source = self._serving.get(name)
        return source is not None and source.is_overridden

    def is_changed(self, name: str) -> bool:
        """Whether a source of a serving model changed on disk since the load."""
        source = self._serving.get(name)
        if source is None:
            return False
        try:
            return sources(source.directory.files()) != sources(source.files)
        except OSError:
            return True

    def is_newer(self, source: ModelSource) -> bool:
        """Whether a model does not serve, or a file is newer than its source."""
        serving = self._serving.get(source.directory.name)
        if serving is None or not self._catalog.versions(source.directory.name):
            return True
        return newest_ns(source.dated_files) > newest_ns(serving.dated_files)

    def unchanged_versions(self, source: ModelSource) -> set[int]:
        """Return the serving versions that were loaded from the same or newer files.

        References
        ----------
        core: src/model_repository_manager/model_repository_manager.cc,
        ModelTimestamp, which is empty for given files
        """
        directory, name = source.directory, source.directory.name
        serving = self._serving.get(name)
        if serving is None:
            return set()
        if serving.directory.path != directory.path and not source.has_given_files:
            return set()
        entry = directory.config_file.relative_to(directory.path).parts[0]
        return {
            number
            for number in self._catalog.versions(name)
            if not is_version_changed(
                number, serving.dated_files, source.dated_files, entry
            )
        }

    def note_serving(self, source: ModelSource, before: Iterable[Served]) -> None:
        """Note the source of a model that serves from now on.

        Parameters
        ----------
        before
            Versions that served until now and may still run.
        """
        self._serving[source.directory.name] = source
        self.keep_folder(source, before)

    def keep_folder(self, source: ModelSource, before: Iterable[Served]) -> None:
        """Keep a folder from which a model serves or will serve."""
        self._folders.use(source.directory.name, source.directory.path, before)

    def note_unloaded(self, name: str) -> None:
        """Note that a model no longer serves."""
        self._serving.pop(name, None)


def _parsed(name: str, config: ConfigOverride | None) -> ModelConfig | None:
    if config is None or isinstance(config, ModelConfig):
        return config
    try:
        return parse_json(config)
    except ModelConfigError as error:
        raise poll_failed(name, error.message, error.advice) from error
