"""The models of a server: defined, loaded, unloaded and described."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from blsnb.arguments import (
    check_flags,
    check_mapping,
    check_text,
    check_type,
    check_version,
)
from blsnb.engine.engine import Engine
from blsnb.engine.loading.changed_files import ChangedFiles
from blsnb.engine.loading.control import ModelControl
from blsnb.engine.loading.load_failures import last_line
from blsnb.engine.loading.model_sources import ConfigOverride
from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.errors import (
    InferenceError,
    ModelConfigError,
    ModelLoadError,
    RepositoryError,
)
from blsnb.files.interrupts import uninterrupted
from blsnb.model.backend_fields import MODEL_FILENAME
from blsnb.model.config import ModelConfig
from blsnb.model.normalization import normalise
from blsnb.parts.implied_configs import ImpliedConfigs
from blsnb.parts.lifetime import ServerLifetime
from blsnb.printable import counted
from blsnb.repository.change import FileContent
from blsnb.repository.directory import (
    CONFIG_FILE,
    MAX_VERSION,
    ModelDirectory,
    version_number,
)
from blsnb.repository.repository import ModelRepository
from blsnb.repository.status import ModelStatus, ambiguous_row, status_of
from blsnb.trace.events import Origin


class Models:
    """Defines, loads and unloads models, and reports their state."""

    def __init__(
        self,
        engine: Engine,
        control: ModelControl,
        repository: ModelRepository,
        changed_files: ChangedFiles,
        lifetime: ServerLifetime,
        implied_configs: ImpliedConfigs,
    ) -> None:
        # The parts that change models in other ways work on the same objects.
        self.engine = engine
        self.control = control
        self.repository = repository
        self.changed_files = changed_files
        self.lifetime = lifetime
        self._implied_configs = implied_configs
        self._unloadable: dict[str, str] = {}
        """Why a newer text of a model did not load, by model, with the cell."""

    def __repr__(self) -> str:
        rows = self.index()
        ready = {row["name"] for row in rows if row.get("state") == "READY"}
        # A folder without a model is in Triton's index, too.
        others = len({row["name"] for row in rows} - ready)
        models = counted(len(ready), "model")
        return f"{models} ready{f', {others} not' * bool(others)}"

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
        check_version(version)
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
            self._unloadable[name] = self._newer_text(files, error)
            raise
        self._unloadable.pop(name, None)
        return status if not status.trouble else self.status(name)

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
            return self.status(name)

    def note_origin(self, source: str, cell: str, offset: int) -> None:
        """Note the cell of a source that is about to be defined.

        Parameters
        ----------
        cell
            Name of the cell, such as ``"In[12]"``.
        offset
            Number of lines of the cell above the source.
        """
        self.control.origins[source] = Origin(cell, offset)

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
        return self.status(name)

    def unload(self, name: str, *, unload_dependents: bool = False) -> None:
        """Stop serving a model, and watching its files."""
        check_text(name=name)
        check_flags(unload_dependents=unload_dependents)
        self.lifetime.check_open()
        self.control.unload(name, unload_dependents=unload_dependents)
        self.changed_files.unwatch(name)
        self._unloadable.pop(name, None)

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
            self._unloadable.pop(name, None)

    def note_unloadable(self, name: str, error: BaseException | None) -> None:
        """Note why the newer files of a model did not load, or that they did."""
        if error is None:
            self._unloadable.pop(name, None)
        else:
            self._unloadable[name] = f"newer files did not load: {last_line(error)}"

    def newer_failure(self, name: str) -> str:
        """Return why a newer text of a model did not load; empty if none failed."""
        return self._unloadable.get(name, "")

    def statuses(self) -> list[ModelStatus]:
        """Return the status of every model, sorted by name.

        A model that was removed is among them while Ctrl-C has not ended it.
        """
        names = set(self.repository.names())
        removed = {name for name, _ in self.engine.abandoned.running()} - names
        return [
            replace(self.status(name), state="REMOVED")
            if name in removed
            else self.status(name)
            for name in sorted(names | removed)
        ]

    def status(self, name: str) -> ModelStatus:
        """Return the status of a model."""
        check_text(name=name)
        serving = self.engine.catalog.versions(name).values()
        found = dict.fromkeys(each for served in serving for each in served.findings)
        running = self.engine.abandoned.running(name).values()
        status = status_of(
            name,
            self.engine.catalog.states(name),
            self.engine.catalog.config(name),
            self.control.seconds.get(name, 0.0),
            self.control.standins.description(name),
            (*found, *self.control.ensembles.notes_on(name)),
            self.engine.placements.gpu_count,
            self._origin(name),
            tuple(self._trouble(name)),
        )
        return replace(
            status,
            running=tuple(itertools.chain(*running)),
            differs=self._folder_that_differs(name),
            imply=self._implied_configs.of,
            advise=self._missing_file,
        )

    def _missing_file(self, name: str) -> str:
        """Return what a model without a model file needs; empty if it has one."""
        directory = self.repository.directory(name)
        if directory is None or directory.has_model_file() or directory.is_ensemble():
            return ""
        # Deferred: few models lack a file.
        from blsnb.backends.backend_registry import missing_file_advice

        with contextlib.suppress(ModelConfigError):
            config = normalise(directory.config(), model_name=name)
            return missing_file_advice(config, name)
        return ""

    def _folder_that_differs(self, name: str) -> str:
        derived = self.repository.derivations.get(name)
        return str(derived.folder) if derived is not None and derived.edits() else ""

    def _origin(self, name: str) -> str:
        """Return the origin of a serving model."""
        directory = self.control.sources.folder(name)
        if directory is None:
            return ""
        if self.control.sources.is_overridden(name):
            return "files or a configuration given with load()"
        if directory.path.parent != self.repository.private_root:
            return str(directory.path)
        versions = self.engine.catalog.versions(name)
        cells = [served.info.origin for served in versions.values()]
        named = dict.fromkeys(f"cell {origin.cell}" for origin in cells if origin)
        if named:
            return ", ".join(named)
        derived = self.repository.derivations.get(name)
        return str(derived.folder) if derived else self._configured_in(directory)

    def _configured_in(self, directory: ModelDirectory) -> str:
        """Return the origin of an ensemble, or of a model with a stand-in."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = directory.config_file.read_text(encoding="utf-8")
            if origin := self.control.origins.get(text):
                return f"cell {origin.cell}"
        return "define()"

    def _trouble(self, name: str) -> Iterator[str]:
        """Yield reasons why the serving text is not the newest one."""
        if name in self._unloadable:
            yield self._unloadable[name]
        elif self.control.sources.is_changed(name):
            yield f"changed on disk since the load: %triton load {name}"

    def exists(self, name: str) -> bool:
        """Whether a model has a folder, or serves without one."""
        if self.repository.directory(name) is not None:
            return True
        return self.control.sources.folder(name) is not None

    def index(self) -> list[dict[str, str]]:
        """Return Triton's repository index: a row for each version of each model."""
        rivals = self.repository.ambiguous()
        index = self.engine.catalog.index
        return [
            row
            for name in self.repository.names()
            for row in ([ambiguous_row(name)] if name in rivals else index(name))
        ]

    def config(self, name: str, *, version: int = -1) -> dict[str, Any]:
        """Return the configuration of a model that serves, in Triton's JSON form."""
        return self._served(name, version).config.to_dict(self.engine.release)

    def served_config(self, name: str) -> ModelConfig:
        """Return the completed configuration of a model that serves."""
        return self._served(name, -1).config

    def config_text(self, name: str, *, version: int = -1) -> str:
        """Return the completed configuration as the text of a ``config.pbtxt``."""
        return self._served(name, version).config.to_pbtxt()

    def _served(self, name: str, version: int) -> Served:
        check_text(name=name)
        check_version(version)
        try:
            return self.engine.catalog.find(name, version)
        except RequestError as error:
            raise inference_error(error) from None


def inference_error(error: RequestError) -> InferenceError:
    """Return the error that the client of a refused request receives."""
    return InferenceError(error.message, error.code, advice=error.advice)


def _check_files(files: object) -> None:
    check_mapping(files=files)
    for path, content in (files or {}).items():  # type: ignore[attr-defined]
        check_type("path of a file", path, str, "a string")
        kinds = "text, bytes or a pathlib.Path"
        check_type(f"files[{path!r}]", content, str | bytes | Path, kinds)


def _bytes(content: FileContent) -> bytes:
    if isinstance(content, Path):
        return content.read_bytes()
    return content if isinstance(content, bytes) else content.encode("utf-8")
