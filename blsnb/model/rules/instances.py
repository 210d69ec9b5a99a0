"""Checks of instance groups, with Triton's texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from blsnb.errors import ModelConfigError
from blsnb.model.text.schema import schema

MIN_COMPUTE_CAPABILITY = "6.000000"
MAX_INSTANCES = 1024
"""Maximum number of instances of one model, which all run in one process."""
MAX_SLOTS = 1 << 17
"""Maximum number of concurrent sequences of all instances of a model."""


def check_instance_groups(message: Any, gpus: Sequence[int]) -> None:
    """Refuse groups whose devices do not exist or do not match their kind.

    References
    ----------
    core: src/model_config_utils.cc, ValidateInstanceGroup
    """
    check_count(message)
    _check_active(message)
    kinds = schema().ModelInstanceGroup
    for group in message.instance_group:
        subject = f"instance group {group.name} of model {message.name}"
        if group.kind == kinds.KIND_GPU:
            _check_gpus(subject, group.gpus, gpus)
        elif group.gpus:
            kind = kinds.Kind.Name(group.kind)
            _refuse(f"{subject} has kind {kind} but specifies one or more GPUs")
        if group.profile:
            # The missing space before "specifies" is Triton's.
            _refuse(
                f"{subject} and platform {message.platform}specifies profile field "
                "which is only supported for TensorRT models"
            )


def _check_active(message: Any) -> None:
    """Refuse a model of which no instance receives requests."""
    groups = message.instance_group
    if groups and all(group.passive for group in groups):
        _refuse(
            f"all instance groups of model {message.name} are passive",
            "Triton loads the model, and ends with its first request. Remove passive "
            "from a group.",
        )


def check_count(message: Any) -> None:
    """Refuse more instances, or slots for sequences, than one process can hold."""
    count = sum(
        max(group.count, 1) * max(len(group.gpus), 1)
        for group in message.instance_group
    )
    subject = f"model {message.name} asks for"
    if count > MAX_INSTANCES:
        _refuse(
            f"{subject} {count:,} instances, more than the {MAX_INSTANCES:,} that "
            "blsnb runs in one process",
            "Lower the count of instance_group; Triton starts a process for each one.",
        )
    slots = max(count, 1) * slots_of(message)
    if slots > MAX_SLOTS:
        _refuse(
            f"{subject} slots for {slots:,} sequences at a time, more than the "
            f"{MAX_SLOTS:,} that blsnb provides",
            "Lower max_candidate_sequences (strategy oldest) or max_batch_size "
            "(strategy direct).",
        )


def slots_of(message: Any) -> int:
    """Return the number of sequences that each instance of a model has at a time."""
    if not message.HasField("sequence_batching"):
        return 0
    count = max(1, message.max_batch_size)
    if message.sequence_batching.HasField("oldest"):
        # Without a number Triton uses the slot count of `direct`.
        count = message.sequence_batching.oldest.max_candidate_sequences or count
    return int(count)


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
