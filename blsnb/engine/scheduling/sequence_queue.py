"""SequenceQueue: requests on their way, as the sequence batcher sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from blsnb.engine.instance.executor import number_execution
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.metrics.statistics import ModelStatistics
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.validation import RequestError
from blsnb.engine.scheduling.dynamic_queue import Arrivals, count_batch
from blsnb.engine.scheduling.queue_scheduler import Moves, Seat, Start
from blsnb.engine.scheduling.sequences.batcher import SequenceBatch, SequenceBatcher
from blsnb.engine.scheduling.sequences.controls import Controls
from blsnb.engine.scheduling.sequences.rules import (
    EXPIRED,
    EXPIRED_CODE,
    SequenceNumbers,
    SequenceRefused,
)
from blsnb.engine.scheduling.sequences.states import States
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import RequestMessage
from blsnb.pb_utils.request import RELEASE_ALL
from blsnb.tensors.dtypes import of_array
from blsnb.tensors.ref import TensorRef, freeze
from blsnb.trace.events import Call

_CANCELLED = ("", "CANCELLED")


class NullInflight(Inflight):
    """A request that nobody sent: it fills a slot below one that is ready."""

    filler = True


class SequenceQueue:
    """The queue of a model with ``sequence_batching``.

    Parameters
    ----------
    read
        Returns the bytes of a file with an initial state.
    log
        Takes the level and the text of what Triton writes to its log.

    Raises
    ------
    ModelConfigError
        At stage ``create``: an initial state cannot be read.

    References
    ----------
    core: src/sequence_batch_scheduler.cc
    """

    preserve_ordering = False

    def __init__(
        self,
        config: ModelConfig,
        pool: InstancePool,
        statistics: ModelStatistics,
        read: Callable[[str], bytes],
        log: Callable[[str, str], None],
    ) -> None:
        self._batcher: SequenceBatcher[Seat] = SequenceBatcher(
            config, len(pool.instances)
        )
        self._controls = Controls(config)
        self._states = States(config, read)
        self._arrivals = Arrivals(config)
        self._numbers = SequenceNumbers() if config.iterative else None
        self._pool = pool
        self._statistics = statistics
        self._log = log

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._batcher)

    def add(self, seat: Seat, now_ns: int) -> None:
        """Let a request wait for its turn.

        Raises
        ------
        RequestError
            It is in no sequence, is a batch, or its sequence did not start.
        """
        inflight = seat.inflight
        if self._numbers is not None:
            message = inflight.message
            fields = message.fields
            number, flags = self._numbers.place(fields.correlation_id, fields.flags)
            inflight.message = message.with_fields(correlation_id=number, flags=flags)
        try:
            self._put(seat, now_ns)
        except SequenceRefused as refused:
            raise RequestError(refused.message, refused.code) from None

    def _put(self, seat: Seat, now_ns: int) -> None:
        fields = seat.inflight.message.fields
        warning = self._batcher.add(
            self._arrivals.of(seat),
            fields.correlation_id,
            fields.flags,
            now_ns,
        )
        if warning:
            self._log("WARNING", warning)

    def decide(self, now_ns: int) -> Moves:
        """Say what to do now."""
        decision = self._batcher.decide(now_ns, self._pool.idle)
        refused = [
            (queued.request, EXPIRED, EXPIRED_CODE) for queued in decision.rejected
        ]
        refused += [(queued.request, *_CANCELLED) for queued in decision.cancelled]
        starts = [self._start(batch) for batch in decision.batches]
        return Moves(starts, refused, decision.wake_ns)

    def _start(self, batch: SequenceBatch[Seat]) -> Start:
        members = [queued for queued in batch.members if queued is not None]
        number = number_execution()
        count_batch(self._statistics.batching, members, batch, number)
        seats = [queued.request for queued in members]
        for seat in seats:
            self._extend(seat.inflight, ready=True)
        first = seats[0].inflight
        inflights = [
            self._null(first) if queued is None else queued.request.inflight
            for queued in batch.members
        ]
        place = self._pool.claim(batch.instance)
        return Start(inflights, seats, place, batch, number)

    def _extend(self, inflight: Inflight, ready: bool) -> None:
        """Add the control and state tensors that the model gets besides its inputs."""
        fields = inflight.message.fields
        extra = self._controls.of(fields.flags, fields.correlation_id, ready)
        inflight.extra = _refs({**extra, **self._states.of(ready)})

    def _null(self, like: Inflight) -> Inflight:
        """Return a request of no one, with inputs of the same types and shapes."""
        inputs = like.message.inputs
        message = RequestMessage(like.message.model_name, inputs)
        null = NullInflight(message, like.root, Call(like.call.model, None, 0))
        self._extend(null, ready=False)
        return null

    def remove(self, seat: Seat) -> None:
        """Let the batcher see that a caller has left: its sequence goes with it."""

    def done(self, start: Start, now_ns: int) -> list[Seat]:
        """Let the sequences go on; return the requests that come back."""
        again = [seat for seat in start.seats if self._comes_back(seat, now_ns)]
        if self._numbers is not None:
            for seat in start.seats:
                if seat not in again:
                    fields = seat.inflight.message.fields
                    self._batcher.end(fields.correlation_id, now_ns)
        self._batcher.done(start.batch, now_ns)
        return again

    def resized(self) -> None:
        """Do nothing: a model with sequences is loaded anew instead."""

    def _comes_back(self, seat: Seat, now_ns: int) -> bool:
        """Let a request wait once more, if its model asked for that and it may."""
        inflight = seat.inflight
        if not inflight.again:
            return False
        message = inflight.message
        inflight.message = message.with_fields(flags=0)
        try:
            self._put(seat, now_ns)
        except SequenceRefused as refused:
            inflight.drop(refused.message)
            inflight.message = message
            self._log("ERROR", hang.not_released(inflight))
            return False
        # Each run counts as a request, as on Triton.
        inflight.release_flags = RELEASE_ALL
        inflight.call.request_end_ns = now_ns
        self._statistics.add(
            inflight.call,
            inflight.batch_size,
            inflight.failed,
            inflight.execution_size,
        )
        inflight.call.request_end_ns = 0
        return True


def _refs(tensors: Mapping[str, NDArray[Any]]) -> tuple[TensorRef, ...]:
    refs = []
    for name, array in tensors.items():
        dtype = of_array(array.dtype)
        assert dtype is not None
        refs.append(freeze(name, array, dtype))
    return tuple(refs)
