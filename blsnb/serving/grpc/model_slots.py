"""ModelSlots: how many calls of one model may be in flight."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from blsnb.engine.threads.shares import Shares
from blsnb.errors import OutOfResourcesError


class ModelSlots:
    """Shares calls out between models; used from any thread.

    Parameters
    ----------
    most
        Maximum number of calls of all models.
    """

    def __init__(self, most: int) -> None:
        self._shares = Shares(most)
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def taken(self, model_name: str) -> Iterator[None]:
        """Take a slot of a model for a while.

        Raises
        ------
        OutOfResourcesError
            The slots that are left are for other models.
        """
        with self._lock:
            if not self._shares.may_take(model_name):
                held = self._shares.held(model_name)
                raise OutOfResourcesError(
                    f"{held} calls of model '{model_name}' are in flight already, and "
                    "the others are kept for other models"
                )
            self._shares.take(model_name)
        try:
            yield
        finally:
            with self._lock:
                self._shares.release(model_name)
