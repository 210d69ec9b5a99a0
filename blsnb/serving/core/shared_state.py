"""State that all end points of a server share."""

from __future__ import annotations

from blsnb.parts.server_parts import ServerParts
from blsnb.serving.access import Access
from blsnb.serving.core.log_settings import LogSettings
from blsnb.serving.core.request_rules import rules_of
from blsnb.serving.core.serving_options import ServingOptions
from blsnb.serving.core.shared_memory import SharedMemory
from blsnb.serving.core.trace_settings import TraceSetting, TraceSettings


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
        self._exporter = parts.exporter
        self.trace_settings = TraceSettings(
            self.options.trace, self._sample, self._traces_left
        )
        self._sample(self.options.trace)
        self.log_settings = LogSettings(parts.log, self.options.log_file)

    def _sample(self, setting: TraceSetting) -> None:
        """Send the requests that a new trace setting demands to the Collector."""
        if self._exporter is not None and setting.collector:
            self._exporter.sampler.change(
                setting.trace_rate, setting.trace_count, is_on=bool(setting.trace_level)
            )

    def _traces_left(self, setting: TraceSetting) -> int:
        if self._exporter is not None and setting.collector:
            return self._exporter.sampler.left
        return setting.trace_count

    def close(self) -> None:
        """Release the shared memory."""
        self.memory.unregister()
