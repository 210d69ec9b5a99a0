"""What Triton refuses in the instance groups of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from blsnb.errors import ModelConfigError
from blsnb.model.text.schema import schema

MIN_COMPUTE_CAPABILITY = "6.000000"


MOST_INSTANCES = 1024
"""Maximum number of instances of one model: all of them live in one process."""
MOST_SLOTS = 1 << 17
"""Maximum number of sequences that all instances of a model have at a time."""


def check_instance_groups(message: Any, gpus: Sequence[int]) -> None:
    """Refuse groups whose devices are not there or do not fit their kind.

    References
    ----------
    core: src/model_config_utils.cc, ValidateInstanceGroup
    """
    check_count(message)
    kinds = schema().ModelInstanceGroup
    for group in message.instance_group:
        subject = f"instance group {group.name} of model {message.name}"
        if group.kind == kinds.KIND_GPU:
            _check_gpus(subject, group.gpus, gpus)
        elif group.gpus:
            kind = kinds.Kind.Name(group.kind)
            _refuse(f"{subject} has kind {kind} but specifies one or more GPUs")
        if group.profile:
            # The missing blank before "specifies" is Triton's.
            _refuse(
                f"{subject} and platform {message.platform}specifies profile field "
                "which is only supported for TensorRT models"
            )


def check_count(message: Any) -> None:
    """Refuse more instances, or slots for sequences, than one process holds.

    Raises
    ------
    ModelConfigError
        At stage ``create``; Triton starts a process for each instance.
    """
    count = sum(
        max(group.count, 1) * max(len(group.gpus), 1)
        for group in message.instance_group
    )
    subject = f"model {message.name} asks for"
    if count > MOST_INSTANCES:
        _refuse(
            f"{subject} {count:,} instances, more than the {MOST_INSTANCES:,} that "
            "blsnb makes in one process",
            "Lower the count of instance_group; Triton starts a process for each one.",
        )
    slots = max(count, 1) * _slots_of(message)
    if slots > MOST_SLOTS:
        _refuse(
            f"{subject} slots for {slots:,} sequences at a time, more than the "
            f"{MOST_SLOTS:,} that blsnb makes",
            "Lower max_candidate_sequences (strategy oldest) or max_batch_size "
            "(strategy direct).",
        )


def _slots_of(message: Any) -> int:
    """Return how many sequences an instance may have at a time."""
    if not message.HasField("sequence_batching"):
        return 0
    batching = message.sequence_batching
    if batching.HasField("oldest"):
        return int(batching.oldest.max_candidate_sequences)
    return int(message.max_batch_size)


def _check_gpus(subject: str, wanted: Sequence[int], gpus: Sequence[int]) -> None:
    if not wanted:
        _refuse(f"{subject} has kind KIND_GPU but no GPUs are available")
    for gpu in wanted:
        if gpu not in gpus:
            _refuse(
                f"{subject} specifies invalid or unsupported gpu id {gpu}. GPUs with "
                "at least the minimum required CUDA compute compatibility of "
                f"{MIN_COMPUTE_CAPABILITY} are: {', '.join(map(str, gpus))}"
            )


def _refuse(reason: str, advice: str = "") -> NoReturn:
    raise ModelConfigError(reason, stage="create", advice=advice)
