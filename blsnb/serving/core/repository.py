"""What both protocols decide of the model repository: its index, loads and unloads."""

from __future__ import annotations

from typing import Any

from blsnb.engine.request.validation import RequestError
from blsnb.parts.server_parts import ServerParts

FILE = "file:"
"""With it begin the names of load parameters that are files."""
UNLOAD_DEPENDENTS = "unload_dependents"
_READY = "READY"


def refuse_name(repository: str) -> None:
    """Refuse a request that names one of several repositories.

    Raises
    ------
    RequestError
        It does.
    """
    if repository:
        raise RequestError(
            "'repository_name' specification is not supported", "UNSUPPORTED"
        )


def index_rows(server: ServerParts, *, ready: bool) -> list[dict[str, Any]]:
    """Return the rows of the index, or of the versions that are ready."""
    rows: list[dict[str, Any]] = server.models.index()
    return [row for row in rows if not ready or row.get("state") == _READY]
