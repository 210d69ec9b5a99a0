"""Rows executed with any executor of `concurrent.futures`."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait

from blsnb.errors import BlsnbError
from blsnb.evaluation.plain import Chunk, RowResult
from blsnb.evaluation.work.frames import divide_sendable
from blsnb.evaluation.work.plan import GRACE_S, MAX_IN_FLIGHT
from blsnb.evaluation.work.server_copy import Opening
from blsnb.evaluation.work.tasks import NeedsModels, Task, close_here, pack, run_task
from blsnb.printable import counted

Answer = list[RowResult] | NeedsModels
_CHECK_S = 10.0
"""Seconds between two checks of Dask's workers while no task ends."""
_LOST_S = 60.0
"""Seconds without any worker after which Dask's workers count as lost."""


class RowsInExecutor:
    """Executes chunks on an executor, which stays open.

    The models are sent to a process that lacks them, and then only their digest. The
    executor replaces no killed process: its error ends the evaluation.

    Parameters
    ----------
    executor
        Its processes can import this package, in the same version.
    opening
        The copy of the server; its folder is read at once.
    count
        Number of the executor's processes; None to ask the executor, and to assume the
        number of this machine's processors if it does not know.
    """

    def __init__(
        self, executor: Executor, opening: Opening, count: int | None = None
    ) -> None:
        self.executor = executor
        self._opening = opening
        self._archive = pack(opening.folder)
        known = getattr(executor, "_max_workers", None)
        workers = count or (known if isinstance(known, int) else os.cpu_count()) or 1
        self._workers = workers
        self._in_flight: dict[Future[Answer], Chunk] = {}
        self._with_models: set[Future[Answer]] = set()
        """Tasks in flight that carry the models."""
        self._held: deque[Chunk] = deque()
        """Chunks that some process could not execute without the models."""
        self._done = 0
        self._had_workers = False
        """Whether Dask has had a worker; those of a job queue may start late."""

    def results(self, chunks: Iterable[Chunk]) -> Iterator[list[RowResult]]:
        """Execute chunks, and yield the results of each, in order of completion.

        Raises
        ------
        BlsnbError
            The executor is broken, or a process cannot open the models.
        KeyboardInterrupt
            After an interrupt, and the results of the chunks in flight.
        """
        source = iter(chunks)
        try:
            while self._fill(source):
                yield from self._answered(self._first_done())
        except KeyboardInterrupt:
            yield from self._rest()
            raise
        finally:
            self._cancel()

    def close(self) -> None:
        """Cancel what has not begun; the executor belongs to its maker."""
        self._cancel()
        close_here(self._opening.copy, self._opening.settings)

    def _first_done(self) -> set[Future[Answer]]:
        """Wait for a task; Dask never ends one if all of its workers have ended."""
        lost_s = 0.0
        while True:
            done, _ = wait(self._in_flight, _CHECK_S, return_when=FIRST_COMPLETED)
            if done:
                return done
            count = _dask_workers(self.executor)
            self._had_workers |= bool(count or self._done)
            lost_s = lost_s + _CHECK_S if self._had_workers and count == 0 else 0.0
            if lost_s >= _LOST_S:
                raise self._stopped(RuntimeError("all of its workers have ended"))

    def _fill(self, source: Iterator[Chunk]) -> bool:
        """Submit chunks up to the limit; return whether any is in flight."""
        most = MAX_IN_FLIGHT * self._workers
        while len(self._in_flight) + len(self._held) < most:
            chunk = next(source, None)
            if chunk is None:
                break
            rows = tuple(row.portable() for row in chunk.rows)
            self._submit(chunk._replace(rows=rows))
        return bool(self._in_flight)

    def _submit(self, chunk: Chunk, archive: bytes | None = None) -> None:
        task = Task(self._opening.copy, self._opening.settings, chunk, archive)
        try:
            future = self.executor.submit(run_task, task)
        except Exception as error:
            raise self._stopped(error) from error
        self._in_flight[future] = chunk
        if archive is not None:
            self._with_models.add(future)

    def _answered(self, done: Iterable[Future[Answer]]) -> Iterator[list[RowResult]]:
        broken: Exception | None = None
        for future in done:
            chunk = self._in_flight.pop(future)
            try:
                answer = future.result()
            except Exception as error:
                if unsent := self._again_without_unsendable(chunk):
                    yield unsent
                else:
                    broken = error
                continue
            if isinstance(answer, NeedsModels):
                self._held.append(chunk)
            else:
                self._done += len(answer)
                yield answer
            if future in self._with_models:
                self._with_models.remove(future)
                self._submit_held()
        self._send_models()
        if broken is not None:
            raise self._stopped(broken) from broken

    def _send_models(self) -> None:
        """Send the models with held chunks, at most once at a time for each process."""
        while self._held and len(self._with_models) < self._workers:
            self._submit(self._held.popleft(), self._archive)

    def _submit_held(self) -> None:
        """Submit held chunks: a process that lacked the models has them."""
        while self._held:
            self._submit(self._held.popleft())

    def _again_without_unsendable(self, chunk: Chunk) -> list[RowResult]:
        """Return the results of rows that cannot be sent, and submit the others."""
        rows, unsent = divide_sendable(chunk.rows)
        if rows and unsent:
            self._submit(chunk._replace(rows=rows))
        return unsent

    def _rest(self) -> Iterator[list[RowResult]]:
        """Yield the results of the chunks that end in time."""
        self._cancel()
        done, _ = wait(self._in_flight, GRACE_S)
        for future in done:
            if not future.cancelled() and future.exception() is None:
                answer = future.result()
                if isinstance(answer, list):
                    yield answer

    def _cancel(self) -> None:
        for future in self._in_flight:
            future.cancel()

    def _stopped(self, error: Exception) -> BlsnbError:
        if isinstance(error, BlsnbError):
            return BlsnbError(f"a process of the executor cannot evaluate: {error}")
        text = f"{type(error).__name__}: {error}".rstrip(". ")
        return BlsnbError(
            f"the executor failed after {counted(self._done, 'row')}: {text}. Make a "
            "new executor and evaluate again; with resume='FILE' completed rows are "
            "not executed again."
        )


def _dask_workers(executor: Executor) -> int | None:
    """Return the number of Dask's workers; None if it is unknown."""
    client = getattr(executor, "_client", None)
    try:
        return len(client.nthreads()) if client is not None else None
    except Exception:
        # An executor of another kind, or a scheduler that does not respond.
        return None
