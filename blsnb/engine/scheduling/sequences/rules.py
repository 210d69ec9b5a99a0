"""Requirements of requests of sequences, with Triton's texts."""

from __future__ import annotations

SequenceId = int | str
"""A correlation id; 0 and ``""`` mean that there is no sequence."""

EXPIRED = "timeout of the corresponding sequence has been expired"


class SequenceRefused(Exception):
    """A request does not belong to a sequence; text and code are Triton's."""

    def __init__(self, message: str, code: str = "INVALID_ARG") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def not_alone(model: str, batch_size: int) -> SequenceRefused:
    """Return the refusal of a request that is a batch or has no correlation id.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, SequenceBatchScheduler::Enqueue
    """
    if batch_size > 1:
        return SequenceRefused(
            f"inference request to model '{model}' must specify batch-size 1 due to "
            "requirements of sequence batcher"
        )
    return SequenceRefused(
        f"inference request to model '{model}' must specify a non-zero or "
        "non-empty correlation ID"
    )


def no_start(model: str, sequence: SequenceId) -> SequenceRefused:
    """Return the refusal of a request whose sequence did not start."""
    return SequenceRefused(
        f"inference request for sequence {sequence} to model '{model}' must specify "
        "the START flag on the first request of the sequence"
    )


def conflict(model: str, sequence: SequenceId) -> str:
    """Return Triton's log line for a START within a sequence."""
    return (
        f"sequence {sequence} for model '{model}' has a conflict. The previous "
        "sequence did not end before this sequence start. Previous sequence will be "
        "terminated early."
    )
