"""SharedState: what the end points of one server keep together."""

from __future__ import annotations

from blsnb.parts.server_parts import ServerParts
from blsnb.serving.core.log_settings import LogSettings
from blsnb.serving.core.shared_memory import SharedMemory
from blsnb.serving.core.trace_settings import TraceSettings


class SharedState:
    """What a client tells one end point, and the other knows.

    Parameters
    ----------
    server
        Of which it is.
    """

    def __init__(self, server: ServerParts) -> None:
        self.memory = SharedMemory()
        self.trace_settings = TraceSettings()
        self.log_settings = LogSettings(server.log)

    def close(self) -> None:
        """Give the shared memory back."""
        self.memory.close()
