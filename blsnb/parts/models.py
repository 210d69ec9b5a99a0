"""Models: those of a server, defined, loaded, unloaded and told."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from blsnb.backends.standin_registry import StandIns
from blsnb.engine.catalog import Catalog
from blsnb.engine.engine import Engine
from blsnb.engine.loading.changed_files import ChangedFiles
from blsnb.engine.loading.control import ConfigOverride, ModelControl
from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.errors import InferenceError, ServerClosedError
from blsnb.files.interrupts import uninterrupted
from blsnb.model.config import ModelConfig
from blsnb.parts.requests import ClientRequests
from blsnb.pb_utils.compiled.releases import Release
from blsnb.repository.change import FileContent
from blsnb.repository.directory import CONFIG_FILE
from blsnb.repository.repository import ModelRepository
from blsnb.repository.status import ModelStatus, ambiguous_row, status_of
from blsnb.trace.events import Origin
from blsnb.trace.recorder import Recorder


class Models:
    """The part of a server that has the models; what other parts stand on."""

    repository: ModelRepository
    recorder: Recorder
    _engine: Engine
    _control: ModelControl
    _requests: ClientRequests
    _changed_files: ChangedFiles
    _monitor_lock: threading.Lock
    _closed: bool

    def __repr__(self) -> str:
        if self._closed:
            return "<Server: closed>"
        rows = self.index()
        ready = {row["name"] for row in rows if row.get("state") == "READY"}
        # A folder without a model is in Triton's index, too.
        others = len({row["name"] for row in rows} - ready)
        noun = "model" if len(ready) == 1 else "models"
        return f"<Server: {len(ready)} {noun} ready{f', {others} not' * bool(others)}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a server is neither pickled nor copied: it has threads, models in memory "
            "and a folder; make one with blsnb.Server() in each process"
        )

    @property
    def catalog(self) -> Catalog:
        """Which model versions serve, for what stands in front of the server."""
        return self._engine.catalog

    @property
    def release(self) -> Release:
        """Triton's release that the server agrees with, such as ``(24, 10)``."""
        return self._engine.release

    @property
    def _standins(self) -> StandIns:
        return self._control.standins

    def _check_open(self) -> None:
        if self._closed:
            raise ServerClosedError()

    def define(
        self,
        name: str,
        source: str | None,
        *,
        config: str | ModelConfig | None = None,
        version: int = 1,
        files: Mapping[str, FileContent] | None = None,
    ) -> ModelStatus:
        """Write a model into the private repository and load it.

        Parameters
        ----------
        source
            The text of ``model.py``, to the letter; None for an ensemble.
        config
            The text of ``config.pbtxt``, or a configuration; None leaves the one
            that is there, or lets ``auto_complete_config`` give it.
        files
            Path relative to the version's folder, and text, bytes or a file.

        Raises
        ------
        ModelLoadError
            The model does not load; its folder is as it was before, and what
            served before still does.
        RepositoryError
            A name or a path is none.
        """
        written: dict[str, FileContent | None] = {}
        if source is not None:
            written[f"{version}/model.py"] = source
        if config is not None:
            text = config if isinstance(config, str) else config.to_pbtxt()
            written[CONFIG_FILE] = text
        for path, content in (files or {}).items():
            written[f"{version}/{path}"] = content
        with self._standins.changing(name, None):
            return self.change(name, written)

    def change(self, name: str, files: Mapping[str, FileContent | None]) -> ModelStatus:
        """Write files of a private model and load it anew; all of it or nothing.

        Parameters
        ----------
        files
            Path relative to the model's folder, and what it shall hold; None
            removes it.

        Raises
        ------
        ModelLoadError
            The model does not load with them.
        RepositoryError
            A path leads out of the folder.
        """
        self._check_open()
        return uninterrupted(lambda: self._changed(name, files))

    def _changed(
        self, name: str, files: Mapping[str, FileContent | None]
    ) -> ModelStatus:
        catalog = self._engine.catalog
        with self._control.alone():
            before = catalog.versions(name)

            def serves() -> bool:
                # After Ctrl-C, too, what serves is what the folder holds.
                return catalog.versions(name) != before

            try:
                with self.repository.changing(name, files, serves) as directory:
                    # A file may come before the model that it belongs to.
                    if directory.has_model_file() or directory.is_ensemble():
                        self._control.bring_up(name, always=True)
            except BaseException:
                if self.repository.directory(name) is None:
                    catalog.forget(name)
                raise
            return self.model(name)

    def note_origin(self, source: str, cell: str, offset: int) -> None:
        """Note the cell that a source comes from, before it is defined.

        Parameters
        ----------
        cell
            Its name, such as ``"In[12]"``.
        offset
            Lines of the cell above the first of the source.
        """
        self._control.origins[source] = Origin(cell, offset)

    def load(
        self,
        name: str,
        *,
        config: ConfigOverride | None = None,
        files: Mapping[str, FileContent] | None = None,
    ) -> ModelStatus:
        """Load a model from its folder, or load it anew if a file of it is newer.

        An override is not written into the folder. It lasts until the model is
        unloaded, defined, or loaded again after a file of its folder was changed.

        Parameters
        ----------
        config
            Replaces ``config.pbtxt``: JSON text, a dict of the same, or a
            configuration.
        files
            Replace the folder, and need a ``config``: text, bytes or a file, by
            ``"file:1/model.py"`` and the like.

        Raises
        ------
        ModelLoadError
            With the text of Triton's load call.
        """
        self._check_open()
        contents = {path: _bytes(content) for path, content in (files or {}).items()}
        uninterrupted(lambda: self._control.load(name, config, contents))
        return self.model(name)

    def unload(self, name: str, *, unload_dependents: bool = False) -> None:
        """Stop serving a model; one that is not loaded is no error, as on Triton.

        Parameters
        ----------
        unload_dependents
            Whether models go, too, that were loaded only as parts of an ensemble.
        """
        self._check_open()
        self._control.unload(name, unload_dependents=unload_dependents)
        self._changed_files.unwatch(name)

    def models(self) -> list[ModelStatus]:
        """Return the status of every model of the repository, sorted by name."""
        return [self.model(name) for name in self.repository.names()]

    def model(self, name: str) -> ModelStatus:
        """Return the status of a model."""
        return status_of(
            name,
            self._engine.catalog.states(name),
            self._engine.catalog.config(name),
            self._control.seconds.get(name, 0.0),
            self._standins.how(name),
            tuple(self._control.ensembles.told(name)),
            self._engine.placements.gpu_count,
        )

    def index(self) -> list[dict[str, str]]:
        """Return Triton's repository index: a row for each version of each model."""
        rivals = self.repository.ambiguous()
        index = self._engine.catalog.index
        return [
            row
            for name in self.repository.names()
            for row in ([ambiguous_row(name)] if name in rivals else index(name))
        ]

    def config(self, name: str, *, version: int = -1) -> dict[str, Any]:
        """Return the configuration of a model in service, in Triton's JSON form.

        Raises
        ------
        InferenceError
            It does not serve; the text is Triton's.
        """
        return self._served(name, version).config.to_dict(self._engine.release)

    def config_text(self, name: str, *, version: int = -1) -> str:
        """Return the completed configuration as the text of a ``config.pbtxt``.

        Raises
        ------
        InferenceError
            The model does not serve.
        """
        return self._served(name, version).config.to_pbtxt()

    def _served(self, name: str, version: int) -> Served:
        try:
            return self._engine.catalog.find(name, version)
        except RequestError as error:
            raise told(error) from None


def told(error: RequestError) -> InferenceError:
    """Return a refusal of the engine as its caller outside meets it."""
    return InferenceError(error.message, error.code, advice=error.advice)


def _bytes(content: FileContent) -> bytes:
    if isinstance(content, Path):
        return content.read_bytes()
    return content if isinstance(content, bytes) else content.encode("utf-8")
