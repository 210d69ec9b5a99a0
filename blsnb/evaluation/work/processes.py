"""Rows executed on worker processes, which are replaced if killed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import wait

from blsnb.errors import BlsnbError
from blsnb.evaluation.plain import Chunk, Row, RowResult
from blsnb.evaluation.work.frames import divide_sendable
from blsnb.evaluation.work.plan import MAX_DEATHS, Fail, StopWorker, Submit, WorkPlan
from blsnb.evaluation.work.server_copy import Opening
from blsnb.evaluation.work.worker import Ready
from blsnb.evaluation.work.worker_process import STOP_S, WorkerEnded, WorkerProcess

KILLED_CODE = "INTERNAL"
"""Code of a row that ended its workers."""
_POLL_S = 1.0
"""Maximum seconds until the end of a process is noticed that left its pipe open."""
_now = time.monotonic


class RowsInProcesses:
    """Executes chunks on worker processes of this process.

    Ctrl-C yields the results of the chunks in flight, for two seconds, before it ends
    the evaluation. `close` ends all workers within `STOP_S` seconds.

    Parameters
    ----------
    opening
        What each worker opens; its folder must exist until `close`.
    count
        Number of workers.
    at_close
        Called once all workers have ended.
    """

    def __init__(
        self,
        opening: Opening,
        count: int,
        at_close: Callable[[], object] = lambda: None,
    ) -> None:
        self._opening = opening
        self._at_close = at_close
        self.workers: dict[int, WorkerProcess] = {}
        """The workers by number; started by `results`."""
        self._numbers = range(count)
        self._last_ending = ""

    def results(self, chunks: Iterable[Chunk]) -> Iterator[list[RowResult]]:
        """Execute chunks, and yield the results of each, in order of completion.

        Raises
        ------
        BlsnbError
            A worker cannot open the models.
        KeyboardInterrupt
            After an interrupt, and the results of the chunks in flight.
        """
        plan = WorkPlan(self._numbers)
        source = iter(chunks)
        try:
            for number in self._numbers:
                if number not in self.workers:
                    self.workers[number] = WorkerProcess(self._opening)
                elif self.workers[number].is_ready:
                    plan.started(number)
            yield from self._executed(plan, source)
        except KeyboardInterrupt:
            plan.interrupted(_now())
            yield from self._executed(plan, source)
            raise

    def close(self) -> None:
        """End all workers: let them finalize their models, then kill them."""
        deadline = _now() + STOP_S
        workers, self.workers = self.workers, {}
        with contextlib.ExitStack() as stack:
            stack.callback(self._at_close)
            for each in workers.values():
                each.leave()
                stack.callback(each.close, deadline)

    def _executed(
        self, plan: WorkPlan, source: Iterator[Chunk]
    ) -> Iterator[list[RowResult]]:
        while True:
            if plan.wants_chunk:
                chunk = next(source, None)
                if chunk is None:
                    plan.end()
                else:
                    plan.add(chunk)
            action = plan.decide(_now())
            if isinstance(action, StopWorker):
                return
            if isinstance(action, Fail):
                yield [self._killed(row) for row in action.rows]
            elif isinstance(action, Submit):
                yield from self._submit(plan, action)
            else:
                yield from self._received(plan)

    def _submit(self, plan: WorkPlan, action: Submit) -> Iterator[list[RowResult]]:
        worker, chunk = self.workers[action.worker], action.chunk
        portable = chunk._replace(rows=tuple(row.portable() for row in chunk.rows))
        try:
            worker.send(portable)
        except WorkerEnded:
            self._replace(plan, action.worker)
        except Exception:
            rows, unsent = divide_sendable(portable.rows)
            if not unsent:
                raise
            plan.refused(action.worker, rows)
            yield unsent

    def _received(self, plan: WorkPlan) -> Iterator[list[RowResult]]:
        """Wait for messages, and yield the results that arrived."""
        for number in self._with_message(plan.wait_s(_now())):
            try:
                message = self.workers[number].receive()
            except WorkerEnded:
                self._replace(plan, number)
                continue
            if isinstance(message, Ready):
                self.workers[number].is_ready = True
                plan.started(number)
            else:
                plan.answered(number)
                yield message

    def _with_message(self, timeout_s: float | None) -> list[int]:
        """Return the workers with a message, or that have ended; wait for the first."""
        found = [n for n, each in self.workers.items() if each.has_message]
        if found:
            return found
        connections = {n: each.connection for n, each in self.workers.items()}
        limit_s = _POLL_S if timeout_s is None else min(timeout_s, _POLL_S)
        ready = wait([*connections.values()], limit_s)
        return [n for n, connection in connections.items() if connection in ready]

    def _replace(self, plan: WorkPlan, number: int) -> None:
        """Start a new worker in place of one that has ended."""
        worker = self.workers.pop(number)
        plan.died(number)
        output = worker.output_end()
        worker.kill()
        self._last_ending = worker.ending()
        if not worker.is_ready:
            raise BlsnbError(
                f"a worker process {self._last_ending} before its models were loaded; "
                f"its last lines:\n{output}"
            )
        self.workers[number] = WorkerProcess(self._opening)

    def _killed(self, row: Row) -> RowResult:
        text = (
            f"{MAX_DEATHS} worker processes ended while they executed this row; the "
            f"last one {self._last_ending}"
        )
        return RowResult(row.number, error=text, code=KILLED_CODE)
