"""Concurrent execution of the steps of one ensemble request."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.scheduling.ensembles.calls import EnsembleProgress, StepCall
from blsnb.engine.scheduling.ensembles.run import EnsembleRun
from blsnb.engine.threads.waiter import Waiter
from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError
from blsnb.tensors.ref import TensorRef

Call = StepCall[TensorRef]
Move = Callable[[], EnsembleProgress[TensorRef]]


class StepDriver:
    """Executes ready steps: one on this thread, all others on workers.

    Each response of a decoupled step is processed to its end before the next one, so
    that responses keep their order.

    Parameters
    ----------
    execute
        Sends the request of a step; yields a move of the run for each response.
    respond
        Receives responses of the ensemble, from one thread at a time.
    """

    def __init__(
        self,
        run: EnsembleRun[TensorRef],
        execute: Callable[[EnsembleRun[TensorRef], Call], Iterator[Move]],
        respond: Callable[[EnsembleProgress[TensorRef]], None],
        root: RootRequest,
        workers: Workers,
    ) -> None:
        self._run = run
        self._execute = execute
        self._respond = respond
        self._root = root
        self._workers = workers
        self._lock = threading.Lock()
        self._over = Waiter()

    def drive(self) -> None:
        """Run all steps; return after the ensemble's last response.

        Raises
        ------
        Unwind
            The whole client request has ended.
        """
        __tracebackhide__ = True
        self._run_calls(self._apply(self._run.start))
        self._root.wait(self._over)

    def _run_calls(self, calls: Sequence[Call]) -> None:
        """Run steps on this thread, each with the steps that follow from it."""
        __tracebackhide__ = True
        waiting = deque(calls)
        while waiting:
            call = waiting.popleft()
            if self._run.failed:
                self._apply(self._run.drop)
                continue
            following: Sequence[Call] = ()
            for move in self._execute(self._run, call):
                # Steps that follow from a response run before the next response.
                self._run_calls(following)
                following = self._apply(move)
            waiting.extendleft(reversed(following))

    def _apply(self, move: Move) -> Sequence[Call]:
        """Make a move, respond, start workers; return the steps for this thread."""
        with self._lock:
            progress = move()
            self._respond(progress)
        if progress.final:
            self._over.wake()
        left = progress.calls[:1]
        for call in progress.calls[1:]:
            context = contextvars.copy_context()
            try:
                self._workers.submit(context.run, self._run_on_worker, call)
            except OutOfResourcesError:
                # Sequential execution is slower but correct.
                left = (*left, call)
        return left

    def _run_on_worker(self, call: Call) -> None:
        try:
            self._run_calls([call])
        except Unwind:
            # The thread that waits for the whole request is notified by the root.
            return
        except BaseException as error:
            self._root.end(error)
            raise
