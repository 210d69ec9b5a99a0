"""Why requests left together, and why others did not leave with them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Cause(StrEnum):
    """The kinds of reasons, as a table of counts names them."""

    LARGEST_SIZE = "largest size reached"
    PREFERRED_SIZE = "preferred size reached"
    DELAY_OVER = "delay over"
    INSTANCE_FREE = "instance free"
    SLOTS_FILLED = "slots filled"
    NOT_BATCHING = "the model does not batch"
    TOO_LARGE = "too large together"
    SHAPE_DIFFERS = "shape differs"
    OTHER_INPUTS = "other inputs"
    BEHIND_ANOTHER = "behind one that did not fit"
    BATCH_HAD_LEFT = "the batch had left"
    ONE_AT_A_TIME = "one at a time of its sequence"
    BACKLOG = "no slot for its sequence"


class Reason(NamedTuple):
    """Why a batch left when it did, or why a request did not leave with it."""

    cause: Cause
    words: str
    """The same with its numbers and names."""
