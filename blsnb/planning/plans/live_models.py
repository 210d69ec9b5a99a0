"""The models of a server that were planned: their settings changed, or exported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.errors import BlsnbError
from blsnb.model.text.edited_text import edited
from blsnb.parts.server_parts import ServerParts
from blsnb.planning.options import Setting
from blsnb.repository.directory import CONFIG_FILE

if TYPE_CHECKING:
    from blsnb.repository.export import Exported

Settings = Mapping[str, Setting]


class LiveModels:
    """Models as they were when they were planned.

    Parameters
    ----------
    parts
        Of their server; None for a plan without one.
    names
        The models.
    """

    def __init__(self, parts: ServerParts | None, names: tuple[str, ...] = ()) -> None:
        self._parts = parts
        self._seen = {name: _state(parts, name) for name in names} if parts else {}
        self._applied = dict(self._seen)

    def unapplied(self, settings: Settings) -> list[str]:
        """Return the models that `apply` changes.

        Raises
        ------
        BlsnbError
            A model was changed or removed since, or there is no server.
        """
        return list(self._changed(self._server_parts(), settings))

    def apply(self, settings: Settings) -> list[str]:
        """Change the configurations of models: all of them or none.

        Comments and formatting of their files stay.

        Returns
        -------
        list of str
            The changed models.

        Raises
        ------
        BlsnbError
            A model was changed or removed since, or there is no server.
        ModelLoadError
            A model does not load with its new configuration.
        """
        parts = self._server_parts()
        with parts.control.alone():
            changed = self._changed(parts, settings)
            done: dict[str, bytes | None] = {}
            try:
                for name, text in changed.items():
                    before = _config_file(parts, name)
                    parts.models.define(name, None, config=text)
                    done[name] = before
            except BaseException:
                for name, before in done.items():
                    parts.models.change(name, {CONFIG_FILE: before})
                raise
            for name in changed:
                self._applied[name] = _state(parts, name)
        return list(changed)

    def export(self, settings: Settings, path: str | Path, *, force: bool) -> Exported:
        """Write all models as a repository, with other configurations."""
        parts = self._server_parts()
        changed = self._changed(parts, settings)
        texts = {name: {CONFIG_FILE: each.encode()} for name, each in changed.items()}
        return parts.folders.export(path, force=force, texts=texts)

    def _server_parts(self) -> ServerParts:
        if self._parts is None:
            raise BlsnbError(
                "this plan has no server: write its configs into the folders yourself"
            )
        self._parts.lifetime.check_open()
        return self._parts

    def _changed(self, parts: ServerParts, settings: Settings) -> dict[str, str]:
        """Return the configurations that settings change, as text by model."""
        for name, seen in self._seen.items():
            now = _state(parts, name)
            if now != self._applied[name]:
                _refuse_changed(name, seen, now)
            if name in settings and parts.control.sources.is_overridden(name):
                raise BlsnbError(
                    f"model {name!r} serves with a configuration or files of its "
                    "load() call, which a plan does not change; nothing was changed"
                )
        found: dict[str, str] = {}
        for name, setting in settings.items():
            directory = parts.repository.directory(name)
            served = parts.engine.catalog.config(name)
            assert directory is not None
            assert served is not None
            if setting.applied(served) == served:
                continue
            wanted = setting.applied(directory.config(), served).message
            written = _config_file(parts, name) or b""
            found[name] = edited(written.decode(), wanted)
        return found


NO_MODELS = LiveModels(None)
"""The models of a plan without a server."""
State = tuple[str, str]


def _state(parts: ServerParts, name: str) -> State | None:
    """Return the configuration and the source of a model; None if it is not served."""
    config = parts.engine.catalog.config(name)
    if config is None:
        return None
    return config.to_pbtxt(), parts.engine.catalog.find(name, -1).info.source


def _refuse_changed(name: str, seen: State | None, now: State | None) -> None:
    if seen == now:
        return
    if now is None:
        state = "is no longer served"
    elif seen is None or seen[0] != now[0]:
        state = "was observed before its configuration changed"
    else:
        state = "was observed before its source changed"
    raise BlsnbError(f"model {name!r} {state}; nothing was changed. Plan again.")


def _config_file(parts: ServerParts, name: str) -> bytes | None:
    directory = parts.repository.directory(name)
    if directory is None or not directory.config_file.is_file():
        return None
    return directory.config_file.read_bytes()
