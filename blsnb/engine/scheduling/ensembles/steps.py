"""Steps: the requests that one request of an ensemble makes."""

from __future__ import annotations

import time

from blsnb.engine.request.inflight import Inflight


class Steps:
    """Which steps of an ensemble's request run, and how long those took that did."""

    def __init__(self) -> None:
        self.begun_ns = time.monotonic_ns()
        self.active: set[Inflight] = set()
        self.phases = (0, 0, 0)
        """Nanoseconds of input, execution and output, of all steps together."""

    def begin(self, step: Inflight) -> None:
        """Note that a step is on its way."""
        self.active.add(step)

    def end(self, step: Inflight) -> None:
        """Note that a step is done, and what it took."""
        self.active.discard(step)
        call = step.call
        if not call.compute_end_ns:
            return
        marks = (
            call.compute_start_ns,
            call.compute_input_end_ns,
            call.compute_output_start_ns,
            call.compute_end_ns,
        )
        self.phases = tuple(  # type: ignore[assignment]
            phase + later - earlier
            for phase, earlier, later in zip(
                self.phases, marks, marks[1:], strict=False
            )
        )
