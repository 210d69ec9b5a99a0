"""Lookout: looks at what is underway from time to time, as long as anything is."""

from __future__ import annotations

import logging
from collections.abc import Callable

from blsnb.engine.threads.watcher import Watcher
from blsnb.errors import OutOfResourcesError

_PAUSE_S = 0.25
_END_S = 1.0
_log = logging.getLogger(__name__)


class Lookout:
    """One thread, which ends by itself when there is nothing left to look at.

    Parameters
    ----------
    look
        Looks once; returns whether there is more to come.
    """

    def __init__(self, look: Callable[[], bool]) -> None:
        self._look = look
        self._watcher: Watcher | None = None
        # Whoever takes the token may start it; nobody has to wait.
        self._token = ["start"]

    def wake(self) -> None:
        """Look from now on; costs next to nothing where that is so already."""
        if self._watcher is None:
            self._start()

    def _start(self) -> None:
        try:
            self._token.pop()
        except IndexError:
            return
        watcher = Watcher(self._once, _PAUSE_S, "blsnb live view")
        try:
            watcher.start()
        except OutOfResourcesError as error:
            # The run itself needs no thread; only its view is not refreshed.
            _log.warning("running requests are not shown: %s", error.message)
            self._token.append("start")
            return
        self._watcher = watcher

    def _once(self) -> None:
        if self._goes_on():
            return
        self.close(0)
        # What began meanwhile found it awake.
        if self._goes_on():
            self.wake()

    def _goes_on(self) -> bool:
        try:
            return self._look()
        except Exception:
            _log.exception("a look at the runs underway failed")
            return False

    def close(self, timeout_s: float = _END_S) -> None:
        """Look no more, until woken; safe to repeat."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close(timeout_s)
            self._token.append("start")
