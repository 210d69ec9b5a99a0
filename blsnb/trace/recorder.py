"""The records of runs, of which the newest are kept, within limits."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import Call, ModelInfo, TraceLevel
from blsnb.trace.lazy.call_fields import COMPUTE_END, COMPUTE_START, pack
from blsnb.trace.responses import ResponseLog
from blsnb.trace.run_record import RunRecord, held_bytes

_log = logging.getLogger("blsnb.trace")

KEEP_CALLS = 10_200
"""Default number of calls kept one by one: a loop of ten thousand calls is kept whole.
A call takes a third of a kilobyte."""
_FREED = 16
"""Divisor: when the calls exceed the limit, this part of them is folded."""
_STRIPPED = 64
"""Divisor: when the values exceed the budget, this part of it is freed with them, so
that small values are counted rarely."""
_UNCOUNTED = 16
"""Number of ended runs after which all runs are counted, so that small requests do not
count them each time."""
_MAX_FORGOTTEN = 1000
"""Maximum number of ids kept of dropped runs."""
KEEP_RESPONSES = 1000
"""Maximum number of responses of one call that are kept."""
_STREAM_SHARE = 2
"""Divisor: responses of one open call may use this part of the budget, divided by the
number of open calls. Responses of ended calls count as values of their calls."""


_TENSORS = TraceLevel.TENSORS
"""Looked up once: on the class it takes 0.1 µs."""

_shared: dict[tuple[object, ...], tuple[Any, ...]] = {}
"""Equal tuples of calls, such as shapes, by value: each is in memory once."""
_MAX_SHARED = 1000
_share = _shared.setdefault


Observer = Callable[[RunRecord, Call | None], None]


class Recorder:
    """Records runs. An observer that raises an exception is removed.

    Parameters
    ----------
    level
        Level of recording.
    budget_bytes
        Bytes of tensor values kept alive by all runs that are not pinned.
    keep_runs
        Number of runs kept.
    keep_calls
        Number of calls kept one by one, in all runs that are not pinned; others
        are counted. Newest runs first; each keeps at least its share of a quarter.
    """

    def __init__(
        self,
        level: TraceLevel = TraceLevel.TENSORS,
        budget_bytes: int = 256 << 20,
        keep_runs: int = 50,
        keep_calls: int = KEEP_CALLS,
    ) -> None:
        self.level = level
        self.budget_bytes = budget_bytes
        self.keep_runs = keep_runs
        self.keep_calls = keep_calls
        self._runs: dict[str, RunRecord] = {}
        self._calls_before = 0
        """Number of calls of all runs when the last one ended, or more."""
        self._bytes_before = 0
        """Bytes of the values of all runs when the last one ended, or more."""
        self._uncounted = 0
        """Number of runs that ended since all runs were counted."""
        # The thread that takes the token folds. Popping from a list is atomic, and
        # other threads do not wait.
        self._token = ["fold"]
        self._numbers = itertools.count(1)
        # Threads add and remove at any time: each operation on it is atomic.
        self._observers: dict[object, Observer] = {}
        self._forgotten: deque[str] = deque(maxlen=_MAX_FORGOTTEN)

    @property
    def runs(self) -> list[RunRecord]:
        """The runs kept, oldest first."""
        return list(self._runs.values())

    def begin(self) -> RunRecord:
        """Start the record of a run."""
        run = RunRecord(f"{next(self._numbers):04x}")
        if self.level:
            self._runs[run.id] = run
            run.fold_at = max(self._least_calls, self.keep_calls - self._calls_before)
            run.strip_at = self.budget_bytes - self._bytes_before
            self._forget_old_runs()
        return run

    def unkept(self, level: TraceLevel | None = None) -> RunRecord:
        """Start the record of a run that is dropped when its request ends.

        Parameters
        ----------
        level
            How much is recorded; None for the level of other runs.
        """
        level = self.level if level is None else level
        run = RunRecord(f"{next(self._numbers):04x}", level)
        run.fold_at = self.keep_calls
        run.strip_at = self.budget_bytes
        return run

    def _forget_old_runs(self) -> None:
        if len(self._runs) <= self.keep_runs:
            return
        _forget_shared()
        loose = self._loose_runs()
        surplus = max(0, len(loose) - self.keep_runs)
        # Displayed runs are kept longer, but fill at most half of the room.
        room = self.keep_runs // 2
        others = loose
        if room and any([run.is_displayed for run in loose[:surplus]]):
            shown = {run.id for run in [r for r in loose if r.is_displayed][-room:]}
            others = [run for run in loose if run.id not in shown]
        for run in others[:surplus]:
            if run.ended and run.id in self._runs:
                self._runs.pop(run.id, None)
                self._forgotten.append(run.id)

    def remove(self, run: RunRecord) -> None:
        """Stop keeping a run."""
        if self._runs.pop(run.id, None) is not None:
            self._forgotten.append(run.id)

    def has_forgotten(self, run_id: str) -> bool:
        """Return whether ``keep_runs`` dropped a run; known for the latest ones."""
        return run_id in tuple(self._forgotten)

    def open(self, run: RunRecord, model: ModelInfo, parent: Call | None) -> Call:
        """Start the record of a call."""
        call = Call(model, parent, next(run.call_ids))
        if self.level if run.level is None else run.level:
            run.calls.append(call)
            if len(run.calls) > run.fold_at:
                self._fold(run)
            if self._observers:
                self._notify(run, call)
        return call

    def drop(self, run: RunRecord, call: Call) -> None:
        """Remove a call that was not executed."""
        if call in run.calls:
            run.calls.remove(call)

    def log_responses(
        self, run: RunRecord, call: Call, inputs: tuple[TensorRef, ...] = ()
    ) -> None:
        """Give a call a log of responses, and its inputs at level TENSORS.

        Its caller may have all responses, and the run may end, before its ``execute``
        returns and `close` is called.
        """
        most_bytes = None
        run.open_streams += 1
        level = self.level if run.level is None else run.level
        if level is TraceLevel.TENSORS:
            call.inputs = inputs
            run.budget_bytes = self.budget_bytes
            most_bytes = self.budget_bytes // (_STREAM_SHARE * run.open_streams)
        call.responses = ResponseLog(KEEP_RESPONSES if level else 0, most_bytes)

    def close(
        self,
        run: RunRecord,
        call: Call,
        inputs: tuple[TensorRef, ...],
        outputs: tuple[TensorRef, ...],
    ) -> None:
        """End the record of a call; its tensors are kept at level TENSORS."""
        call.ended = True
        if call.responses is not None:
            run.count_responses(call.responses)
        level = self.level if run.level is None else run.level
        if level:
            names, numbers = call.requested_outputs, call.numbers
            call.requested_outputs = _share(names, names)
            if numbers[COMPUTE_END]:
                call.numbers = pack(*numbers)  # type: ignore[assignment]
        if level is _TENSORS:
            call.inputs = inputs
            call.outputs = outputs
            run.held.append(call)
            size = 0
            for ref in inputs + outputs:
                size += ref.byte_size
                shape = ref.shape
                ref.shape = _share(shape, shape)
            run.held_bytes += size
            if run.held_bytes > run.strip_at:
                self._make_room(run)
        if run.ended:
            run.changed()
        if self._observers:
            self._notify(run, call)

    def end(self, run: RunRecord) -> None:
        """End the record of a run and keep the budget."""
        run.ended = True
        # Several threads may have added to the sum at once: count again.
        run.held_bytes = sum([held_bytes(call) for call in list(run.held)])
        for call in run.calls:
            # A call that a model's own thread made may go on, and writes its times.
            is_complete = call.ended and type(call.numbers) is list
            if is_complete and not call.numbers[COMPUTE_START]:
                call.numbers = pack(*call.numbers)  # type: ignore[assignment]
            call.ended = True
        # Runs in flight are kept beyond the limit until they end.
        self._forget_old_runs()
        self._add(run)
        if self._bytes_before > self.budget_bytes:
            self._keep_budget()
            self._count()
        if self._observers:
            self._notify(run, None)

    def _add(self, run: RunRecord) -> None:
        """Count a run that has ended, and now and then all runs."""
        self._uncounted += 1
        if self._uncounted >= _UNCOUNTED:
            self._count()
            return
        self._calls_before += len(run.calls)
        self._bytes_before += run.held_bytes

    def _count(self) -> None:
        calls = held = self._uncounted = 0
        for run in self._loose_runs():
            calls += len(run.calls)
            held += run.held_bytes
        self._calls_before, self._bytes_before = calls, held

    def changed(self, run: RunRecord) -> None:
        """Note that calls of an ended run have changed; observers see its end again."""
        run.changed()
        self._notify(run, None)

    def _keep_budget(self) -> None:
        left = self.budget_bytes
        for run in reversed(self.runs):
            if run.pinned:
                continue
            if run.held_bytes > left:
                self._strip(run, left)
            left -= run.held_bytes

    def _loose_runs(self) -> list[RunRecord]:
        return [run for run in self.runs if not run.pinned]

    def _make_room(self, current: RunRecord) -> None:
        """Drop values, those of the oldest runs first, until all fit in the budget.

        The memory of the values is free for the next ones while a run is in flight.
        """
        runs = self._loose_runs() if current.level is None else []
        if current not in runs and not current.pinned:
            runs.append(current)
        total = sum(run.held_bytes for run in runs)
        excess = total - self.budget_bytes
        if excess > 0:
            excess += self.budget_bytes // _STRIPPED
        for run in runs:
            if excess <= 0:
                break
            freed = run.held_bytes
            self._strip(run, max(0, freed - excess))
            freed -= run.held_bytes
            excess, total = excess - freed, total - freed
        current.strip_at = current.held_bytes + max(0, self.budget_bytes - total)

    def _strip(self, run: RunRecord, limit: int) -> None:
        """Drop values of the oldest calls until the run holds at most `limit` bytes."""
        if run.pinned:
            return
        # Other threads may drop the last values at the same time.
        with contextlib.suppress(IndexError):
            while run.held_bytes > limit and run.held:
                run.drop_oldest_values(self.budget_bytes)

    @property
    def _least_calls(self) -> int:
        """Minimum number of calls that each run keeps."""
        return self.keep_calls // (4 * max(1, self.keep_runs))

    def _fold(self, current: RunRecord) -> None:
        """Fold calls, the oldest runs' first, until some of the room is free."""
        # Other threads that open calls leave the folding to this thread.
        while len(current.calls) > current.fold_at:
            try:
                token = self._token.pop()
            except IndexError:
                return
            try:
                self._fold_once(current)
            finally:
                self._token.append(token)

    def _fold_once(self, current: RunRecord) -> None:
        loose = self._loose_runs()
        if current.level is not None:
            loose.append(current)
        current.fold_at = len(current.calls)
        self._fold_all(loose)
        _forget_shared()
        count = sum(len(run.calls) for run in loose)
        # Calls that cannot be folded must not be examined again with every call.
        current.fold_at += max(self.keep_calls - count, self.keep_calls // _FREED, 1)

    def _fold_all(self, runs: list[RunRecord]) -> None:
        least = self._least_calls
        left = self.keep_calls - self.keep_calls // _FREED
        left = max(0, left - sum(min(len(run.calls), least) for run in runs))
        for run in reversed(runs):
            if len(run.calls) > least + left:
                run.fold(least + left, self.keep_calls)
            left = max(0, left - max(0, len(run.calls) - least))

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call an observer whenever a call or a run begins or ends.

        Returns
        -------
        Callable
            Stops the observation.
        """
        key = object()

        def stop() -> None:
            self._observers.pop(key, None)

        self._observers[key] = observer
        return stop

    def _notify(self, run: RunRecord, call: Call | None) -> None:
        if run.level is not None:
            return
        for key, observer in self._observers.copy().items():
            try:
                observer(run, call)
            except Exception:
                _log.exception("an observer of the trace failed and was removed")
                self._observers.pop(key, None)


def _forget_shared() -> None:
    if len(_shared) > _MAX_SHARED:
        _shared.clear()
