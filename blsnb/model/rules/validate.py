"""Checks of a configuration, in Triton's order, stages and texts."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from blsnb.errors import ModelConfigError
from blsnb.model.backend_fields import ENSEMBLE
from blsnb.model.config import ModelConfig
from blsnb.model.rules.batching import check_dynamic_batching, check_sequence_batching
from blsnb.model.rules.instances import check_instance_groups
from blsnb.model.rules.plugins import check_agents
from blsnb.model.rules.tensors import check_batch_input_types, check_tensors
from blsnb.pb_utils.compiled.releases import NEWEST, Release, has, too_new

_PYTHON = ("python",)
_TAG = r"(?!_)[a-zA-Z0-9_]*"
_FORCE_CPU = "FORCE_CPU_ONLY_INPUT_TENSORS"


def validate_poll(config: ModelConfig, *, release: Release = NEWEST) -> None:
    """Check a configuration as Triton does when it reads the repository.

    Raises
    ------
    ModelConfigError
        At stage ``poll``; Triton writes this text to its log.

    References
    ----------
    core: src/model_config_utils.cc, ValidateModelConfig
    """
    message = config.message
    _check_fields(message, release)
    check_agents(message)
    _check_backend(message)
    if message.max_batch_size < 0:
        _refuse(f"'max_batch_size' must be non-negative value for {message.name}")
    if message.HasField("dynamic_batching"):
        check_dynamic_batching(message)
    if message.HasField("sequence_batching"):
        _refuse_cached_sequences(message)
        check_sequence_batching(message)
    if message.HasField("ensemble_scheduling"):
        # Deferred: few models are ensembles.
        from blsnb.model.rules.ensembles import check_ensemble

        check_ensemble(message)
    elif message.platform == ENSEMBLE:
        _refuse(
            f"ensemble scheduling must be set for ensemble {message.name} whose "
            f"platform is {ENSEMBLE}"
        )
    _refuse_cached_decoupled(message, "poll")


def validate_completed(config: ModelConfig) -> None:
    """Check what ``auto_complete_config`` completed, with the same rules.

    Raises
    ------
    ModelConfigError
        At stage ``create``; the client of the load request receives this text.
    """
    try:
        validate_poll(config)
    except ModelConfigError as error:
        error.stage = "create"
        raise


def validate_instances(
    config: ModelConfig, *, gpu_count: int = 0, backends: Collection[str] = _PYTHON
) -> None:
    """Check a configuration as Triton does before ``auto_complete_config``.

    Parameters
    ----------
    gpu_count
        Number of usable GPUs.
    backends
        Names of the available backends.

    Raises
    ------
    ModelConfigError
        At stage ``create``: the backend is unknown, or an instance group is invalid
        on this machine.
    """
    message = config.message
    if message.backend not in backends:
        raise missing_backend(message.backend)
    check_instance_groups(message, range(gpu_count))
    _check_force_cpu(message)


def validate_create(
    config: ModelConfig,
    *,
    model_dir: Path | None = None,
    gpu_count: int = 0,
    backends: Collection[str] = _PYTHON,
) -> None:
    """Check a configuration as Triton does when it creates the model.

    Parameters
    ----------
    model_dir
        The model's folder, which contains label files; None to skip their check.
    gpu_count
        Number of usable GPUs.
    backends
        Names of the available backends.

    Raises
    ------
    ModelConfigError
        At stage ``create``; the client of the load request receives this text.

    References
    ----------
    core: src/backend_model.cc, TritonModel::Create
    """
    message = config.message
    if message.platform == ENSEMBLE:
        # Whether an ensemble is decoupled is known only now.
        _refuse_cached_decoupled(message, "create")
    else:
        validate_instances(config, gpu_count=gpu_count, backends=backends)
    check_batch_input_types(message)
    check_tensors(message)
    _check_tags(message)
    if model_dir is not None:
        _check_labels(message, model_dir)


def _check_fields(message: Any, release: Release) -> None:
    used = {
        "max_inflight_requests": message.ensemble_scheduling.max_inflight_requests,
        "model_metrics": message.HasField("model_metrics"),
    }
    for feature, is_used in used.items():
        if is_used and not has(feature, release):
            raise ModelConfigError(
                "failed to read text proto from config.pbtxt",
                code="INTERNAL",
                advice=too_new(feature),
            )


def _check_tags(message: Any) -> None:
    """Refuse keys of ``metric_tags`` that cannot be a part of a label's name."""
    for key in sorted(message.metric_tags):
        if not re.fullmatch(_TAG, key):
            raise ModelConfigError(
                f"metric_tags has the key '{key}', which is not valid in the name of a "
                "Prometheus label; expected letters, digits and underscores, without "
                "an underscore at the beginning",
                stage="create",
                advice="Triton ends when it loads the model. Rename the key.",
            )


def _check_backend(message: Any) -> None:
    ensemble = message.platform == ENSEMBLE
    if ensemble and message.backend:
        _refuse(
            f"Ensemble model '{message.name}' must have platform type '{ENSEMBLE}' "
            "and empty backend type"
        )
    if not ensemble and not message.backend:
        _refuse(f"unexpected platform type '{message.platform}' for {message.name}")


def _refuse_cached_sequences(message: Any) -> None:
    if message.response_cache.enable:
        _refuse(
            f"Response Cache does not currently support model {message.name} with "
            "sequence batching scheduler. Please disable the response cache."
        )


def _refuse_cached_decoupled(message: Any, stage: str) -> None:
    if message.model_transaction_policy.decoupled and message.response_cache.enable:
        raise ModelConfigError(
            f"Response Cache does not currently support model {message.name} with "
            "'decoupled' transaction policy. Please disable the response cache.",
            stage=stage,
        )


def missing_backend(backend: str, advice: str = "") -> ModelConfigError:
    """Return the error of a model whose backend is not available."""
    return ModelConfigError(
        f"unable to find backend library for backend '{backend}', try specifying "
        "runtime on the model configuration.",
        stage="create",
        advice=advice,
    )


def _check_force_cpu(message: Any) -> None:
    """Refuse a value of the parameter that Triton's Python backend does not know.

    References
    ----------
    python_backend: src/python_be.cc, ModelState::ModelState
    """
    if message.backend != "python" or _FORCE_CPU not in message.parameters:
        return
    value = message.parameters[_FORCE_CPU].string_value
    if value not in ("yes", "no"):
        raise ModelConfigError(
            # The single quotation mark is Triton's.
            f"Incorrect value for {_FORCE_CPU}: {value}'",
            stage="create",
            code="UNSUPPORTED",
            advice='Write "yes", or "no" for inputs that may be on a device.',
        )


def forces_cpu(config: ModelConfig) -> bool:
    """Whether inputs of a Python model are always on the host, which is the default."""
    return config.parameters.get(_FORCE_CPU, "yes") != "no"


def _check_labels(message: Any, model_dir: Path) -> None:
    for output in message.output:
        path = model_dir / output.label_filename
        if output.label_filename and not path.is_file():
            raise ModelConfigError(
                f"failed to open text file for read {path}: No such file or directory",
                stage="create",
                code="INTERNAL",
            )


def _refuse(reason: str) -> None:
    raise ModelConfigError(reason, stage="poll")
