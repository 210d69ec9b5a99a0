"""State that all end points of a server share."""

from __future__ import annotations

from blsnb.parts.server_parts import ServerParts
from blsnb.serving.access import Access
from blsnb.serving.core.log_settings import LogSettings
from blsnb.serving.core.request_rules import rules_of
from blsnb.serving.core.serving_options import ServingOptions
from blsnb.serving.core.shared_memory import SharedMemory
from blsnb.serving.core.trace_settings import TraceSettings


class SharedState:
    """Settings and memory that a client of either protocol changes for both.

    Parameters
    ----------
    access
        What clients may do; None for the defaults.
    options
        How the ports answer; None for Triton's defaults.
    """

    def __init__(
        self,
        parts: ServerParts,
        access: Access | None = None,
        options: ServingOptions | None = None,
    ) -> None:
        self.access = access or Access()
        self.options = options or ServingOptions()
        release = parts.engine.release
        self.rules = rules_of(release, self.options.http_max_input_size)
        self.memory = SharedMemory(release)
        self.trace_settings = TraceSettings(self.options.trace)
        self.log_settings = LogSettings(parts.log, self.options.log_file)

    def close(self) -> None:
        """Release the shared memory."""
        self.memory.close()
