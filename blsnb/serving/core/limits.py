"""Limits: how much of its process the end points may take."""

from __future__ import annotations

import resource

_FILES_SHARE = 4
"""One in so many of the files that a process may open is for connections."""
_MOST_CONNECTIONS = 4096


def most_connections() -> int:
    """Return how many connections a port has at most; the notebook needs files, too."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        min(files // _FILES_SHARE, _MOST_CONNECTIONS)
        if files > 0
        else _MOST_CONNECTIONS
    )
