"""What a scheduler answers: who leaves together now, who never will, when to ask."""

from __future__ import annotations

from typing import Generic, NamedTuple

from blsnb.engine.scheduling.batching.queued import Queued, T
from blsnb.engine.scheduling.batching.reason import Reason


class Batch(NamedTuple, Generic[T]):
    """Requests for one ``execute``.

    Parameters
    ----------
    sent_because
        Why it left now and with no more than these.
    left_out
        Who stood behind it and was not taken, each with the reason; the
        first few dozen where many wait.
    """

    members: tuple[Queued[T], ...]
    sent_because: Reason
    left_out: tuple[tuple[Queued[T], Reason], ...] = ()


class Decision(NamedTuple, Generic[T]):
    """What to do now.

    Parameters
    ----------
    batches
        To be started now, each on one idle instance.
    rejected
        To be answered with ``Request timeout expired``, status UNAVAILABLE.
    cancelled
        Left the queue because nobody wants them.
    wake_ns
        When to ask again if nothing else happens; None for not before something does.
    """

    batches: tuple[Batch[T], ...] = ()
    rejected: tuple[Queued[T], ...] = ()
    cancelled: tuple[Queued[T], ...] = ()
    wake_ns: int | None = None
