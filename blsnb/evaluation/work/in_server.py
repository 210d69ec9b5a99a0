"""InServer: executes chunks on this thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blsnb.evaluation.plain import Chunk, EvaluationSettings, RowResult
from blsnb.evaluation.work.rows_in_server import RowsInServer
from blsnb.parts.server_parts import ServerParts


class InServer:
    """A place in this process: rows are executed on the thread that takes results.

    Parameters
    ----------
    parts
        The parts of the server.
    settings
        The model, and the options of each request.
    """

    def __init__(self, parts: ServerParts, settings: EvaluationSettings) -> None:
        self._rows = RowsInServer(parts, settings)

    def results(self, chunks: Iterable[Chunk]) -> Iterator[list[RowResult]]:
        """Yield the result of each row at once: no run waits for its chunk's end."""
        for chunk in chunks:
            for result in self._rows.rows(chunk.rows):
                yield [result]

    def close(self) -> None:
        """Do nothing: the server belongs to the caller."""
