"""What Triton refuses in the instance groups of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from blsnb.errors import ModelConfigError
from blsnb.model.schema import schema

MIN_COMPUTE_CAPABILITY = "6.000000"


def check_instance_groups(message: Any, gpus: Sequence[int]) -> None:
    """Refuse groups whose devices are not there or do not fit their kind.

    References
    ----------
    core: src/model_config_utils.cc, ValidateInstanceGroup
    """
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


def _refuse(reason: str) -> NoReturn:
    raise ModelConfigError(reason, stage="create")
