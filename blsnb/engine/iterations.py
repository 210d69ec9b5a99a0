"""Iterations: a request that comes back to its model until it is answered."""

from __future__ import annotations

import itertools

from blsnb.pb_utils.message import RequestMessage

START = 1
END = 2


def must_start(message: RequestMessage) -> str:
    """Return Triton's refusal of a request that belongs to no sequence."""
    return (
        f"inference request for sequence {message.correlation_id} to model "
        f"'{message.model_name}' must specify the START flag on the first request of "
        "the sequence"
    )


class Iterations:
    """Gives the requests of an iterative sequence their place in it.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, SequenceBatchScheduler::Enqueue
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def first(self, message: RequestMessage) -> RequestMessage:
        """Return a request as its first ``execute`` sees it.

        One without a correlation id gets the next number, and the START flag alone.
        """
        if message.correlation_id:
            return message
        return message.in_sequence(next(self._numbers), START)

    def next(self, message: RequestMessage) -> RequestMessage:
        """Return the request as a later ``execute`` sees it: no longer the start."""
        return message.in_sequence(message.correlation_id, 0)
