"""State that all end points of a server share."""

from __future__ import annotations

from blsnb.parts.server_parts import ServerParts
from blsnb.serving.access import Access
from blsnb.serving.core.log_settings import LogSettings
from blsnb.serving.core.shared_memory import SharedMemory
from blsnb.serving.core.trace_settings import TraceSettings


class SharedState:
    """Settings and memory that a client of either protocol changes for both.

    Parameters
    ----------
    access
        What clients may do; None for the defaults.
    """

    def __init__(self, parts: ServerParts, access: Access | None = None) -> None:
        self.access = access or Access()
        self.memory = SharedMemory()
        self.trace_settings = TraceSettings()
        self.log_settings = LogSettings(parts.log)

    def close(self) -> None:
        """Release the shared memory."""
        self.memory.close()
