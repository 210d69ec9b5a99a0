"""Waiting for conditions, with a deadline: the one place where tests let time pass."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 60.0
"""Maximum time that a condition has to come true."""
TICK_S = 0.01
"""Time between two looks at a condition."""


def until(
    holds: Callable[[], object],
    patience_s: float = PATIENCE_S,
    tick_s: float = TICK_S,
) -> bool:
    """Wait until a condition holds, at most for `patience_s`; return whether it does.

    Parameters
    ----------
    holds
        The condition; it is looked at every `tick_s` seconds.
    """
    deadline = time.monotonic() + patience_s
    while not (found := bool(holds())) and time.monotonic() < deadline:
        time.sleep(tick_s)
    return found
