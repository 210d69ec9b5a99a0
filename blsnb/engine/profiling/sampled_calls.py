"""The call that a thread with model code works for."""

from __future__ import annotations

import itertools

from blsnb.engine.instance.instance_modules import execution_in, instance_in
from blsnb.engine.request.inflight import Execution
from blsnb.trace.events import Call
from blsnb.trace.run_record import RunRecord

_RECENT_CALLS = 1000
"""Maximum number of calls that are searched for the one of a model's own thread."""


class SampledCalls:
    """Finds the calls of one run to which samples belong.

    Parameters
    ----------
    record
        The run.
    """

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self.models: dict[int, str] = {}
        """Names of the models of the calls found, by call id."""
        self._by_thread: dict[int, Call] = {}
        """The latest call of each thread."""

    def call_of(self, module: str, thread_id: int) -> int | None:
        """Return the id of the call; None if the thread works for another run.

        Parameters
        ----------
        module
            Name of the module of the model's code that runs.
        thread_id
            Identifier of its thread.
        """
        execution = execution_in(module, thread_id)
        if execution is None:
            call = self._background(module, thread_id)
        else:
            call = self._of(execution)
        if call is None:
            return None
        self._by_thread[thread_id] = call
        self.models.setdefault(call.id, call.model.name)
        return call.id

    def _of(self, execution: Execution) -> Call | None:
        """Return the run's call that an execution serves."""
        for inflight in execution.inflights:
            if inflight.root.record is self._record:
                return inflight.call
        return None

    def _background(self, module: str, thread_id: int) -> Call | None:
        """Return the call of a thread that the model started.

        It is the call during which the thread was found first, as long as that is
        open, else the latest open call of the instance.
        """
        instance = instance_in(module)
        before = self._by_thread.get(thread_id)
        if before is not None and before.instance == instance and not before.ended:
            return before
        calls = itertools.islice(reversed(self._record.calls), _RECENT_CALLS)
        mine = (each for each in calls if each.instance == instance)
        return next((each for each in mine if not each.ended), None)
