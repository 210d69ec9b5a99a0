"""Garbage collections, put off where they would visit many objects in vain."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collections_paused() -> Iterator[None]:
    """Make objects of which none is garbage, such as modules, without collections.

    They are in the oldest generation, which is rarely visited, afterwards.
    """
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            with present_objects_left_out():
                pass
            gc.enable()


@contextmanager
def present_objects_left_out() -> Iterator[None]:
    """Leave the objects that are there out of collections.

    Nothing changes if the user has frozen objects: unfreezing is for all or none.
    """
    freezes = not gc.get_freeze_count()
    if freezes:
        gc.freeze()
    try:
        yield
    finally:
        if freezes:
            gc.unfreeze()
