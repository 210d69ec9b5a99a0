"""Garbage collections during a measurement."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def frozen_heap() -> Iterator[None]:
    """Leave the objects that are there out of garbage collections.

    A collection of all generations stops every thread while it visits all objects of
    the process, 50 ms for half a million. A kernel may have any number of them, but a
    real server's clients are elsewhere: their latencies would contain it.
    """
    if gc.get_freeze_count():
        # Somebody else has frozen objects, and unfreezing is for all or none.
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
