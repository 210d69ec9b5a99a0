"""A server's models and settings, as another process can open them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from blsnb.evaluation.keeper import Keeper
from blsnb.evaluation.plain import Chunk, EvaluationSettings, RowResult
from blsnb.evaluation.work.rows_in_server import RowsInServer
from blsnb.files.owned import unique
from blsnb.parts.server_parts import ServerParts, open_parts
from blsnb.parts.settings import ServerSettings
from blsnb.results.run import Run


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
    origins
        Folders of the models on the copied server, by model: error texts name them.
    digest
        SHA-256 of all of this and of each file in the folder.
    """

    settings: ServerSettings
    models: tuple[str, ...]
    stand_ins: Mapping[str, Mapping[str, Any]]
    origins: Mapping[str, str] = field(default_factory=dict)
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


class Opening(NamedTuple):
    """What a worker opens: a copy of a server, and the request of each row."""

    copy: ServerCopy
    folder: Path
    settings: EvaluationSettings


class CopiedServer:
    """A copy of a server in this process, which executes chunks.

    Raises
    ------
    BlsnbError
        A model does not load in this process, or the settings are invalid.
    """

    def __init__(
        self, copy: ServerCopy, folder: Path, settings: EvaluationSettings
    ) -> None:
        self._parts: ServerParts = copy.open(folder)
        self._folder = folder
        self._origins = {
            f"{folder / name}/": f"{origin}/" for name, origin in copy.origins.items()
        }
        self._keeper = Keeper(settings.keep)
        try:
            self._rows = RowsInServer(self._parts, settings)
        except BaseException:
            self.close()
            raise

    def run(self, chunk: Chunk) -> list[RowResult]:
        """Execute a chunk; runs that are kept are the contents of files."""
        results = [result for [result] in self._rows.results([chunk])]
        for result in results:
            result.error = self._with_origins(result.error)
            self._keeper.offer(result, {})
        # Later rows of the chunk may have displaced earlier ones.
        for result in results:
            run, result.run = result.run, None
            is_kept = chunk.whole or result.number in self._keeper
            if is_kept and isinstance(run, Run):
                result.run = self._content(run)
        return results

    def _with_origins(self, text: str) -> str:
        """Return an error text with the folders of the copied server.

        Equal failures have equal texts, whatever process they are from.
        """
        for copied, origin in self._origins.items():
            text = text.replace(copied, origin)
        return text

    def _content(self, run: Run) -> bytes:
        """Return the content of a run's ``.blsrun`` file."""
        path = unique(self._folder.parent, "run-").with_suffix(".blsrun")
        try:
            return run.save(path).read_bytes()
        finally:
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Finalize the models."""
        self._parts.lifetime.close()
