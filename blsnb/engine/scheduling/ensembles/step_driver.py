"""StepDriver: drives one request of an ensemble through its steps, side by side."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.scheduling.ensembles.calls import Progress, StepCall
from blsnb.engine.scheduling.ensembles.run import EnsembleRun
from blsnb.engine.threads.waiter import Waiter
from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError
from blsnb.tensors.ref import TensorRef

Call = StepCall[TensorRef]
Move = Callable[[], Progress[TensorRef]]


class StepDriver:
    """Runs the steps that are ready: one on this thread, the others on workers.

    The responses of a decoupled step are taken one after the other, each with all
    that follows from it, so that the answers keep their order.

    Parameters
    ----------
    run
        Says what follows from what.
    ask
        Makes the request of a step; yields a move of the run for each response.
    answer
        Takes what the ensemble answers; is called by one thread at a time.
    root
        The life of the request.
    """

    def __init__(
        self,
        run: EnsembleRun[TensorRef],
        ask: Callable[[EnsembleRun[TensorRef], Call], Iterator[Move]],
        answer: Callable[[Progress[TensorRef]], None],
        root: RootRequest,
        workers: Workers,
    ) -> None:
        self._run = run
        self._ask = ask
        self._answer = answer
        self._root = root
        self._workers = workers
        self._lock = threading.Lock()
        self._over = Waiter()

    def drive(self) -> None:
        """Run all steps; return when the ensemble has given its last answer.

        Raises
        ------
        Unwind
            The whole request has ended.
        """
        __tracebackhide__ = True
        self._follow(self._moved(self._run.start))
        self._root.wait(self._over)

    def _follow(self, calls: Sequence[Call]) -> None:
        """Run steps on this thread, and what follows from each before the next."""
        __tracebackhide__ = True
        waiting = deque(calls)
        while waiting:
            call = waiting.popleft()
            if self._run.failed:
                self._moved(partial(self._run.drop, call))
                continue
            following: Sequence[Call] = ()
            for move in self._ask(self._run, call):
                # What follows from a response comes before the next one.
                self._follow(following)
                following = self._moved(move)
            waiting.extendleft(reversed(following))

    def _moved(self, move: Move) -> Sequence[Call]:
        """Make a move, answer, start steps that are ready; return those left to do."""
        with self._lock:
            progress = move()
            self._answer(progress)
        if progress.final:
            self._over.wake()
        left = progress.calls[:1]
        for call in progress.calls[1:]:
            context = contextvars.copy_context()
            try:
                self._workers.submit(context.run, self._apart, call)
            except OutOfResourcesError:
                # One after the other is slower, and right.
                left = (*left, call)
        return left

    def _apart(self, call: Call) -> None:
        """Run a step on a worker's thread."""
        try:
            self._follow([call])
        except Unwind:
            # Who waits for the whole request learns it from there.
            return
        except BaseException as error:
            self._root.end(error)
            raise
