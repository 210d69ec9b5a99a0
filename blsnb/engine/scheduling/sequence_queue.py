"""The sequence batcher over requests in flight."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from blsnb.engine.instance.executor import number_execution
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.metrics.statistics import ModelStatistics
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.validation import RequestError
from blsnb.engine.scheduling.dynamic_queue import QueueEntries, count_batch, refused
from blsnb.engine.scheduling.request_queue import (
    PendingRequest,
    Queue,
    QueueDecision,
    ReadyBatch,
)
from blsnb.engine.scheduling.sequences.batcher import SequenceBatcher
from blsnb.engine.scheduling.sequences.controls import Controls
from blsnb.engine.scheduling.sequences.instance_slots import SequenceBatch
from blsnb.engine.scheduling.sequences.rules import EXPIRED, SequenceRefused
from blsnb.engine.scheduling.sequences.states import States
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import RequestMessage
from blsnb.pb_utils.request import RELEASE_ALL
from blsnb.request_fields import SEQUENCE_START
from blsnb.tensors.dtypes import of_array
from blsnb.tensors.ref import TensorRef, freeze
from blsnb.trace.events import Call
from blsnb.trace.lazy.call_fields import REQUEST_END


class NullInflight(Inflight):
    """A null request: it fills an empty slot below one with a request."""

    filler = True


class SequenceQueue(Queue):
    """The queue of a model with ``sequence_batching``.

    Parameters
    ----------
    read
        Returns the bytes of a file with an initial state.
    log
        Receives level and text of Triton's log lines.

    Raises
    ------
    ModelConfigError
        At stage ``create``: an initial state cannot be read.

    References
    ----------
    core: src/sequence_batch_scheduler.cc
    """

    def __init__(
        self,
        config: ModelConfig,
        pool: InstancePool,
        statistics: ModelStatistics,
        read: Callable[[str], bytes],
        log: Callable[[str, str], None],
    ) -> None:
        self._batcher: SequenceBatcher[PendingRequest] = SequenceBatcher(
            config, len(pool.instances)
        )
        self._controls = Controls(config)
        self._states = States(config, read)
        self._entries = QueueEntries(config)
        self._numbers = itertools.count(1) if config.iterative else None
        self._pool = pool
        self._statistics = statistics
        self._log = log

    def __len__(self) -> int:
        return len(self._batcher)

    def add(self, pending: PendingRequest, now_ns: int) -> None:
        """Append a request.

        Raises
        ------
        RequestError
            It has no correlation id, is a batch, or its sequence did not start.
        """
        inflight = pending.inflight
        message = inflight.message
        if self._numbers is not None and not message.fields.correlation_id:
            # core: src/sequence_utils.h, IterativeSequencer::SetupSequenceRequest
            inflight.message = message.with_fields(
                correlation_id=next(self._numbers), flags=SEQUENCE_START
            )
        try:
            self._put(pending, now_ns)
        except SequenceRefused as refused:
            raise RequestError(refused.message, refused.code) from None

    def _put(self, pending: PendingRequest, now_ns: int) -> None:
        fields = pending.inflight.message.fields
        warning = self._batcher.add(
            self._entries.new(pending), fields.correlation_id, fields.flags, now_ns
        )
        if warning:
            self._log("WARNING", warning)

    def decide(self, now_ns: int) -> QueueDecision:
        """Return what to do now."""
        decision = self._batcher.decide(now_ns, self._pool.idle)
        batches = [self._ready(batch) for batch in decision.batches]
        return QueueDecision(batches, refused(decision, EXPIRED), decision.wake_ns)

    def _ready(self, batch: SequenceBatch[PendingRequest]) -> ReadyBatch:
        queued = [each for each in batch.members if each is not None]
        number = number_execution()
        count_batch(self._statistics.batching, queued, batch, number)
        members = [each.request for each in queued]
        for pending in members:
            self._extend(pending.inflight, ready=True)
        first = members[0].inflight
        inflights = [
            self._null(first) if each is None else each.request.inflight
            for each in batch.members
        ]
        place = self._pool.claim(batch.instance)
        return ReadyBatch(inflights, members, place, batch, number)

    def _extend(self, inflight: Inflight, ready: bool) -> None:
        """Add control and state tensors to the inputs."""
        fields = inflight.message.fields
        extra = self._controls.of(fields.flags, fields.correlation_id, ready)
        inflight.extra = _refs({**extra, **self._states.of(ready)})

    def _null(self, like: Inflight) -> Inflight:
        """Return a null request with inputs of the same types and shapes."""
        inputs = like.message.inputs
        message = RequestMessage(like.message.model_name, inputs)
        null = NullInflight(message, like.root, Call(like.call.model, None, 0))
        self._extend(null, ready=False)
        return null

    def remove(self, pending: PendingRequest) -> None:
        """Do nothing: the batcher itself notices a cancellation, with its sequence."""

    def done(self, batch: ReadyBatch, now_ns: int) -> list[PendingRequest]:
        """Continue the sequences; return the requests that are rescheduled."""
        again = [each for each in batch.members if self._reschedule(each, now_ns)]
        if self._numbers is not None:
            for pending in batch.members:
                if pending not in again:
                    fields = pending.inflight.message.fields
                    self._batcher.end(fields.correlation_id, now_ns)
        self._batcher.done(batch.source, now_ns)
        return again

    def _reschedule(self, pending: PendingRequest, now_ns: int) -> bool:
        """Queue a request again if its model rescheduled it and the batcher agrees."""
        inflight = pending.inflight
        if not inflight.is_rescheduled:
            return False
        message = inflight.message
        inflight.message = message.with_fields(flags=0)
        try:
            self._put(pending, now_ns)
        except SequenceRefused as refused:
            inflight.drop(refused.message)
            inflight.message = message
            self._log("ERROR", hang.not_released(inflight))
            return False
        # Each execution counts as a request, as on Triton.
        inflight.release_flags = RELEASE_ALL
        inflight.numbers[REQUEST_END] = now_ns
        self._statistics.add(
            inflight.numbers,
            inflight.batch_size,
            inflight.failed,
            inflight.execution_size,
        )
        inflight.numbers[REQUEST_END] = 0
        return True


def _refs(tensors: Mapping[str, NDArray[Any]]) -> tuple[TensorRef, ...]:
    refs = []
    for name, array in tensors.items():
        dtype = of_array(array.dtype)
        assert dtype is not None
        refs.append(freeze(name, array, dtype))
    return tuple(refs)
