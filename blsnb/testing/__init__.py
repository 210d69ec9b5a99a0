"""Models tested by pytest: a server as a fixture, recorded runs as tests.

Importing this room is all that pytest does where blsnb is installed, so nothing of the
engine is imported before a test asks for a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blsnb.testing.replays import ReplayError
    from blsnb.testing.tested_server import TestedServer

__all__ = ["ReplayError", "TestedServer"]


def __getattr__(name: str) -> Any:
    """Import a name's home when it is first asked for."""
    if name == "TestedServer":
        from blsnb.testing.tested_server import TestedServer

        return TestedServer
    if name == "ReplayError":
        from blsnb.testing.replays import ReplayError

        return ReplayError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
