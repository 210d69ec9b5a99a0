"""Recorder: keeps what happened, within a budget; newest runs first."""

from __future__ import annotations

import enum
import itertools
import logging
from collections.abc import Callable

from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import Call, ModelInfo, ResponseEvent

_log = logging.getLogger("blsnb.trace")


class TraceLevel(enum.IntEnum):
    """How much is recorded."""

    OFF = 0
    TIMESTAMPS = 1
    TENSORS = 2


class RunRecord:
    """The calls of one request from outside and of all that it caused."""

    __slots__ = ("calls", "ended", "held_bytes", "id", "pinned", "stripped")

    def __init__(self, run_id: str) -> None:
        self.id = run_id
        self.calls: list[Call] = []
        self.held_bytes = 0
        self.pinned = False
        self.stripped = 0
        """How many calls, from the first, have lost their values."""
        self.ended = False


Observer = Callable[[RunRecord, Call | None], None]


class Recorder:
    """Records runs; an observer that raises is removed and the run never notices.

    Parameters
    ----------
    level
        What is recorded.
    budget_bytes
        Bytes of tensor values kept alive by all runs that are not pinned.
    keep_runs
        Number of runs kept.
    """

    def __init__(
        self,
        level: TraceLevel = TraceLevel.TENSORS,
        budget_bytes: int = 256 << 20,
        keep_runs: int = 50,
    ) -> None:
        self.level = level
        self.budget_bytes = budget_bytes
        self.keep_runs = keep_runs
        self._runs: dict[str, RunRecord] = {}
        self._numbers = itertools.count(1)
        self._observers: tuple[Observer, ...] = ()

    @property
    def runs(self) -> list[RunRecord]:
        """The runs kept, oldest first."""
        return list(self._runs.values())

    def begin(self) -> RunRecord:
        """Start the record of a run."""
        run = RunRecord(f"{next(self._numbers):04x}")
        if self.level:
            self._runs[run.id] = run
            self._forget_old_runs()
        return run

    def _forget_old_runs(self) -> None:
        surplus = len(self._runs) - self.keep_runs
        for run_id, run in list(self._runs.items()):
            if surplus <= 0:
                return
            if not run.pinned and run.ended:
                self._runs.pop(run_id, None)
                surplus -= 1

    def open(self, run: RunRecord, model: ModelInfo, parent: Call | None) -> Call:
        """Start the record of a call."""
        call = Call(model, parent, len(run.calls))
        if self.level:
            run.calls.append(call)
            if self._observers:
                self._notify(run, call)
        return call

    def drop(self, run: RunRecord, call: Call) -> None:
        """Forget a call that did not take place after all."""
        if call in run.calls:
            run.calls.remove(call)

    def close(
        self,
        run: RunRecord,
        call: Call,
        inputs: tuple[TensorRef, ...],
        outputs: tuple[TensorRef, ...],
    ) -> None:
        """End the record of a call; its tensors are kept at level TENSORS."""
        if self.level is TraceLevel.TENSORS:
            call.inputs = inputs
            call.outputs = outputs
            run.held_bytes += _sizes(inputs) + _sizes(outputs)
            if run.held_bytes > self.budget_bytes:
                self._strip(run, self.budget_bytes)
        if self._observers:
            self._notify(run, call)

    def end(self, run: RunRecord) -> None:
        """End the record of a run and keep the budget."""
        run.ended = True
        # Several threads may have added to the sum at once: count again.
        run.held_bytes = sum(_held(call) for call in run.calls[run.stripped :])
        self._keep_budget()
        if self._observers:
            self._notify(run, None)

    def _keep_budget(self) -> None:
        left = self.budget_bytes
        for run in reversed(self.runs):
            if run.pinned:
                continue
            if run.held_bytes > left:
                self._strip(run, left)
            left -= run.held_bytes

    def _strip(self, run: RunRecord, limit: int) -> None:
        """Drop the values of a run's oldest calls until it holds no more than that."""
        if run.pinned:
            return
        while run.held_bytes > limit and run.stripped < len(run.calls):
            call = run.calls[run.stripped]
            run.held_bytes -= _held(call)
            _drop_values(call)
            run.stripped += 1

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call an observer whenever a call or a run begins or ends.

        Returns
        -------
        Callable
            Stops the observation.
        """
        self._observers = (*self._observers, observer)

        def stop() -> None:
            self._observers = tuple(o for o in self._observers if o is not observer)

        return stop

    def _notify(self, run: RunRecord, call: Call | None) -> None:
        for observer in self._observers:
            try:
                observer(run, call)
            except Exception:
                _log.exception("an observer of the trace failed and was removed")
                self._observers = tuple(o for o in self._observers if o is not observer)


def _sizes(refs: tuple[TensorRef, ...]) -> int:
    return sum([ref.byte_size for ref in refs if ref.data is not None])


def _held(call: Call) -> int:
    responses = call.responses or ()
    streamed = sum(_sizes(response.outputs) for response in responses)
    return _sizes(call.inputs) + _sizes(call.outputs) + streamed


def _drop_values(call: Call) -> None:
    call.inputs = tuple(ref.without_data() for ref in call.inputs)
    call.outputs = tuple(ref.without_data() for ref in call.outputs)
    if call.responses:
        call.responses = [
            ResponseEvent(r.ns, tuple(ref.without_data() for ref in r.outputs), r.error)
            for r in call.responses
        ]
