"""ServerCopy: a server's models and settings, as another process can open them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blsnb.parts.server_parts import ServerParts, open_parts
from blsnb.parts.settings import ServerSettings


@dataclass(frozen=True, slots=True)
class ServerCopy:
    """A server as a value that can be pickled, besides the folder of its models.

    Parameters
    ----------
    settings
        The server's settings, without folders.
    models
        Names of the models in the folder that are loaded.
    stand_ins
        Arguments of the stand-ins by model.
    digest
        SHA-256 of all of this and of each file in the folder.
    """

    settings: ServerSettings
    models: tuple[str, ...]
    stand_ins: Mapping[str, Mapping[str, Any]]
    digest: str = ""

    def open(self, folder: Path) -> ServerParts:
        """Return the parts of a new server with the models.

        Parameters
        ----------
        folder
            Contains the models; read until the server is closed.

        Raises
        ------
        ModelLoadError
            A model does not load in this process.
        """
        parts = open_parts(replace(self.settings, model_repository=folder))
        try:
            for name, arguments in self.stand_ins.items():
                parts.stand_ins.load(name, **arguments)
            for name in self.models:
                parts.control.load(name)
        except BaseException:
            parts.lifetime.close()
            raise
        return parts
