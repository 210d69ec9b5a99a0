"""Iterations: a request that comes back to its model until it is answered."""

from __future__ import annotations

import itertools

from blsnb.pb_utils.message import RequestMessage

_START = 1


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

        One without a correlation id gets the next number.
        """
        number = message.correlation_id or next(self._numbers)
        return message.in_sequence(number, message.flags | _START)

    def next(self, message: RequestMessage) -> RequestMessage:
        """Return the request as a later ``execute`` sees it: no longer the start."""
        return message.in_sequence(message.correlation_id, 0)
