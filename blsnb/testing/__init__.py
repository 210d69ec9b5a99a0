"""Test models with pytest: a server as a fixture, recorded runs as tests.

pytest imports this package wherever blsnb is installed. The engine is imported only
when a test uses a server.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blsnb.testing.replays import ReplayError
    from blsnb.testing.tested_server import EvaluationError, TestedServer

__all__ = ["EvaluationError", "ReplayError", "TestedServer"]


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "replays" if name == "ReplayError" else "tested_server"
    return getattr(importlib.import_module(f"blsnb.testing.{home}"), name)
