"""One request of a sequence, and the line in which a slot's requests wait."""

from __future__ import annotations

from collections import deque
from typing import Generic, NamedTuple

from blsnb.engine.scheduling.batching.queued import Queued, T
from blsnb.engine.scheduling.sequences.rules import SequenceId
from blsnb.request_fields import SEQUENCE_END


class Turn(NamedTuple, Generic[T]):
    """A request and what it says of its sequence."""

    queued: Queued[T]
    sequence: SequenceId
    flags: int

    @property
    def ends(self) -> bool:
        """Whether its sequence ends with it."""
        return bool(self.flags & SEQUENCE_END)

    @property
    def cancelled(self) -> bool:
        """Whether its client gave it up."""
        return self.queued.cancelled()


Line = deque[Turn[T] | None]
"""A slot's requests in order; None where the sequence ends without a request."""


def requests(line: Line[T]) -> list[Turn[T]]:
    """Return a line without its end marks."""
    return [turn for turn in line if turn is not None]


def take_out(line: Line[T] | deque[Turn[T]], queued: Queued[T]) -> bool:
    """Remove a request from a line; False if it is not in it."""
    for position, turn in enumerate(line):
        if turn is not None and turn.queued is queued:
            del line[position]
            return True
    return False
