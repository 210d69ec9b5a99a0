"""Wait for conditions, with a deadline; other tests do not sleep."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 60.0
"""Maximum time until a condition holds."""
TICK_S = 0.01
"""Time between two evaluations of a condition."""


def until(
    holds: Callable[[], object],
    patience_s: float = PATIENCE_S,
    tick_s: float = TICK_S,
) -> bool:
    """Wait for a condition, at most for `patience_s`; return whether it holds."""
    deadline = time.monotonic() + patience_s
    while not (result := bool(holds())) and time.monotonic() < deadline:
        time.sleep(tick_s)
    return result
