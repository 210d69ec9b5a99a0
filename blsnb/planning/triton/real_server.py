"""What a calibration and a check need of a real server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from blsnb.benchmark.client import Sender
from blsnb.parity.triton.executed import BySize
from blsnb.pb_utils.message import RequestMessage
from blsnb.trace.spans import Trace


class RealServer(Protocol):
    """A running Triton server."""

    @property
    def pid(self) -> int | None:
        """Id of its process; None if it runs on another machine."""

    def sender(self, messages: Sequence[RequestMessage]) -> Sender:
        """Return a client that sends these requests again and again."""

    def set_tracing(self, enabled: bool) -> None:
        """Trace the times of all requests, or of none."""

    def executions(self) -> Mapping[str, BySize]:
        """Return what it has counted: the executions of each model by batch size."""

    def traces(self) -> Sequence[Trace]:
        """Return the requests that were traced so far."""
