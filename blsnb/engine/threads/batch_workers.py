"""Worker threads that execute batches."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence

from blsnb.engine.threads.workers import Workers

Work = Callable[[Callable[[], Sequence[object]]], None]
"""Executes a batch. It receives a function to call at the end of ``execute``, which
returns what the worker does next: empty, and filled by what the worker submits."""


class BatchWorkers:
    """Workers that execute batches, each several in succession if there are.

    A worker at the end of its batch executes the one that it submits itself: another
    thread would have to wake first, while the instance is idle.

    Parameters
    ----------
    workers
        The threads.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._next: dict[int, list[Work]] = {}
        """What each worker at the end of its batch does next, by thread identifier."""

    def submit(self, work: Work) -> None:
        """Execute a batch on a worker.

        Raises
        ------
        OutOfResourcesError
            No thread can start.
        """
        following = self._next.get(threading.get_ident())
        # A worker with one continues for long: others need its thread sooner.
        if following == [] and not self._workers.waiting_count:
            following.append(work)
        else:
            self._workers.submit(self._run, [work])

    def _run(self, works: list[Work]) -> None:
        here = threading.get_ident()

        def ended() -> Sequence[object]:
            self._next[here] = works
            return works

        while works:
            # The threads of the requests raise what ends a batch.
            with contextlib.suppress(BaseException):
                works.pop()(ended)
            self._next.pop(here, None)
