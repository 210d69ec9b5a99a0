"""Test models with pytest: a server as a fixture, recorded runs as tests.

pytest imports this package wherever blsnb is installed. The engine is imported only
when a test uses a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blsnb.testing.evaluations import EvaluationError
    from blsnb.testing.replays import ReplayError
    from blsnb.testing.tested_server import TestedServer

__all__ = ["EvaluationError", "ReplayError", "TestedServer"]


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name == "TestedServer":
        from blsnb.testing.tested_server import TestedServer

        return TestedServer
    if name == "ReplayError":
        from blsnb.testing.replays import ReplayError

        return ReplayError
    if name == "EvaluationError":
        from blsnb.testing.evaluations import EvaluationError

        return EvaluationError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
