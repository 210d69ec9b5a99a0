"""The models of a server: defined, loaded, unloaded and removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path, PurePosixPath

from blsnb.arguments import (
    check_flags,
    check_mapping,
    check_text,
    check_type,
    version_of,
)
from blsnb.engine.engine import Engine
from blsnb.engine.loading.changed_files import ChangedFiles
from blsnb.engine.loading.control import ModelControl
from blsnb.engine.loading.load_failures import last_line
from blsnb.engine.loading.model_sources import ConfigOverride
from blsnb.errors import ModelLoadError, RepositoryError
from blsnb.files.interrupts import uninterrupted
from blsnb.model.backend_fields import MODEL_FILENAME
from blsnb.model.config import ModelConfig
from blsnb.parts.lifetime import ServerLifetime
from blsnb.parts.model_reports import ModelReports
from blsnb.repository.change import FileContent, encoded
from blsnb.repository.directory import CONFIG_FILE, MAX_VERSION, version_number
from blsnb.repository.repository import ModelRepository
from blsnb.repository.status import ModelStatus


class Models:
    """Defines, loads, unloads and removes models."""

    def __init__(
        self,
        engine: Engine,
        control: ModelControl,
        repository: ModelRepository,
        changed_files: ChangedFiles,
        lifetime: ServerLifetime,
        reports: ModelReports,
    ) -> None:
        # The parts that change models in other ways work on the same objects.
        self.engine = engine
        self.control = control
        self.repository = repository
        self.changed_files = changed_files
        self.lifetime = lifetime
        self.reports = reports

    def define(
        self,
        name: str,
        source: str | None,
        *,
        config: str | ModelConfig | None = None,
        version: int = 1,
        files: Mapping[str, FileContent] | None = None,
    ) -> ModelStatus:
        """Write a model into the private repository and load it."""
        check_text(name=name)
        check_type("source", source, str | None, "the text of model.py, or None")
        kinds = "the text of a config.pbtxt, a ModelConfig, or None"
        check_type("config", config, str | ModelConfig | None, kinds)
        version = version_of(version)
        if version_number(str(version)) is None:
            raise RepositoryError(
                f"version={version} is not valid; expected 0 to {MAX_VERSION:,}"
            )
        _check_files(files)
        written: dict[str, FileContent | None] = {}
        if source is not None:
            written[f"{version}/model.py"] = source
        if config is not None:
            text = config if isinstance(config, str) else config.to_pbtxt()
            written[CONFIG_FILE] = text
        for path, content in (files or {}).items():
            written[f"{version}/{path}"] = content
        with self.control.standins.changing(name, None):
            return self.change(name, written)

    def change(
        self,
        name: str,
        files: Mapping[str, FileContent | None],
        on_written: Callable[[], None] = lambda: None,
    ) -> ModelStatus:
        """Write files of a private model and reload it, completely or not at all.

        Parameters
        ----------
        files
            Path relative to the model's folder, and its new content; None removes it.
        on_written
            Called when the files are written, before the model is loaded.

        Raises
        ------
        ModelLoadError
            The model does not load with them.
        RepositoryError
            A path leads out of the folder.
        """
        self.lifetime.check_open()
        try:
            with self._without_stand_in(name, files):
                status = uninterrupted(lambda: self._changed(name, files, on_written))
        except ModelLoadError as error:
            self.reports.newer_failures[name] = self._newer_text(files, error)
            raise
        self.reports.newer_failures.pop(name, None)
        return status if not status.trouble else self.reports.status(name)

    def _without_stand_in(
        self, name: str, files: Mapping[str, FileContent | None]
    ) -> AbstractContextManager[None]:
        """End the stand-in of a model whose ``model.py`` is written."""
        is_written = any(
            PurePosixPath(path).name == MODEL_FILENAME and content is not None
            for path, content in files.items()
        )
        standins = self.control.standins
        return standins.changing(name, None) if is_written else nullcontext()

    def _newer_text(
        self, files: Mapping[str, FileContent | None], error: ModelLoadError
    ) -> str:
        """Return a line that names the text that did not load, and the reason."""
        texts = [each for each in files.values() if isinstance(each, str)]
        found = (self.control.origins.get(text) for text in texts)
        cell = next((f"{origin.cell} " for origin in found if origin is not None), "")
        return f"newer text did not load: {cell}{last_line(error)}"

    def _changed(
        self,
        name: str,
        files: Mapping[str, FileContent | None],
        on_written: Callable[[], None],
    ) -> ModelStatus:
        catalog = self.engine.catalog
        with self.control.alone():
            before = catalog.versions(name)

            def serves() -> bool:
                # Even after Ctrl-C the folder contains the files that serve.
                return catalog.versions(name) != before

            try:
                with self.repository.changing(name, files, serves) as directory:
                    on_written()
                    # A file may be written before its model.
                    if directory.has_model_file() or directory.is_ensemble():
                        self.control.bring_up(name, always=True)
            except BaseException:
                if self.repository.directory(name) is None:
                    catalog.forget(name)
                raise
            return self.reports.status(name)

    def load(
        self,
        name: str,
        *,
        config: ConfigOverride | None = None,
        files: Mapping[str, FileContent] | None = None,
    ) -> ModelStatus:
        """Load a model from its folder, or from what replaces the folder."""
        check_text(name=name)
        kinds = "JSON text, a dict, a ModelConfig, or None"
        check_type("config", config, str | Mapping | ModelConfig | None, kinds)
        _check_files(files)
        self.lifetime.check_open()
        contents = {path: _bytes(content) for path, content in (files or {}).items()}
        uninterrupted(lambda: self.control.load(name, config, contents))
        return self.reports.status(name)

    def unload(self, name: str, *, unload_dependents: bool = False) -> None:
        """Stop serving a model, and watching its files."""
        check_text(name=name)
        check_flags(unload_dependents=unload_dependents)
        self.lifetime.check_open()
        self.control.unload(name, unload_dependents=unload_dependents)
        self.changed_files.unwatch(name)
        self.reports.newer_failures.pop(name, None)

    def remove(self, name: str) -> None:
        """Unload a model and remove its folder, if it is the server's own."""
        check_text(name=name)
        self.lifetime.check_open()
        self.repository.check_removable(name)
        uninterrupted(lambda: self._removed(name))

    def _removed(self, name: str) -> None:
        with self.control.alone():
            self.control.take_down(name)
            self.changed_files.unwatch(name)
            self.repository.remove(name)
            self.forget(name)

    def forget(self, name: str) -> None:
        """Unload a model whose folder was removed, and drop what is known of it."""
        with self.control.alone():
            self.control.take_down(name)
            self.engine.catalog.forget(name)
            self.control.seconds.pop(name, None)
            self.reports.newer_failures.pop(name, None)

    def note_unloadable(self, name: str, error: BaseException | None) -> None:
        """Note why the newer files of a model did not load, or that they did."""
        if error is None:
            self.reports.newer_failures.pop(name, None)
        else:
            self.reports.newer_failures[name] = (
                f"newer files did not load: {last_line(error)}"
            )


def _check_files(files: object) -> None:
    check_mapping(files=files)
    for path, content in (files or {}).items():  # type: ignore[attr-defined]
        check_type("path of a file", path, str, "a string")
        kinds = "text, bytes or a pathlib.Path"
        check_type(f"files[{path!r}]", content, str | bytes | Path, kinds)


def _bytes(content: FileContent) -> bytes:
    if not isinstance(content, Path):
        return encoded(content)
    try:
        return content.read_bytes()
    except (OSError, ValueError) as error:
        raise RepositoryError(f"{content} cannot be read: {error}") from error
