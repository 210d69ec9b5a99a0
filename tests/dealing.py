"""How tests are dealt out to the processes of pytest-xdist."""

from __future__ import annotations

from pathlib import PurePosixPath

from xdist.scheduler import LoadFileScheduling

LONG_LIVED = ("browser", "conformance", "notebooks")
"""Folders whose servers outlive a test."""


def share_of(nodeid: str) -> str:
    """Return what a test stays together with: its file, or its folder and servers."""
    path = PurePosixPath(nodeid.split("::", 1)[0])
    folder = path.parts[1] if len(path.parts) > 1 else ""
    return folder if folder in LONG_LIVED else str(path)


class ByServers(LoadFileScheduling):
    """Deals by file, and all that share a server to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)
