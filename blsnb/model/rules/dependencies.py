"""Checks of an ensemble against its composing models, with Triton's texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig

LATEST = -1


class Composing(NamedTuple):
    """The state of a composing model.

    Parameters
    ----------
    versions
        The completed configurations of its ready versions.
    failure
        The error of its load after ``load failed for model '…': ``, without the final
        line break; None if it did not fail.
    invalid
        Why the model, itself an ensemble, was refused at stage ``dependency``.
    """

    versions: Mapping[int, ModelConfig] = MappingProxyType({})
    failure: str | None = None
    invalid: str = ""


def composing_models(config: ModelConfig) -> dict[str, set[int]]:
    """Return, by model in order of the steps, the versions that an ensemble uses.

    A step without a version uses version 0; -1 is the latest.
    """
    models: dict[str, set[int]] = {}
    for step in config.message.ensemble_scheduling.step:
        models.setdefault(step.model_name, set()).add(step.model_version)
    return models


def find_faults(
    configs: Mapping[str, ModelConfig], names: Iterable[str]
) -> dict[str, str]:
    """Return, by name, why ensembles cannot be loaded.

    Parameters
    ----------
    configs
        All models that are loaded or in the repository, by name.
    names
        The models of this load.

    Returns
    -------
    dict
        Reasons for ensembles with a missing model or a circular dependency, which may
        contain further names of such a circle.

    References
    ----------
    core: src/model_repository_manager/model_repository_manager.cc,
    ConnectDependencyGraph, CircularDependencyCheck
    """
    faults: dict[str, str] = {}
    needed = {name: list(composing_models(configs[name])) for name in configs}
    names = sorted(names)
    for name in names:
        missing = [model for model in needed[name] if model not in configs]
        if missing:
            # Triton's text has room for a list, but contains only the first name.
            faults[name] = (
                f"ensemble {name} contains models that are not available or "
                f"ambiguous: {missing[0]}"
            )
    for name in names:
        if name not in faults and (text := _circle(name, name, needed, faults, set())):
            faults[name] = text
    return faults


def _circle(
    current: str,
    start: str,
    needed: Mapping[str, Collection[str]],
    faults: dict[str, str],
    seen: set[str],
) -> str:
    """Return Triton's text if a model depends on the start; else an empty text."""
    for model in needed.get(current, ()):
        if model == start:
            return (
                f"circular dependency between ensembles: {start} -> ... -> {current} "
                f"-> {start}"
            )
        # Triton follows a circle that does not contain the start until it crashes.
        if model in seen:
            continue
        seen.add(model)
        if text := _circle(model, start, needed, faults, seen):
            faults[current] = text
            return text
    return ""


def validate_ensemble(
    config: ModelConfig, composing: Mapping[str, Composing]
) -> ModelConfig:
    """Check an ensemble against its loaded composing models.

    Returns
    -------
    ModelConfig
        The configuration with the ``decoupled`` that follows from the composing
        models, whatever it was before.

    Raises
    ------
    ModelConfigError
        At stage ``dependency``; the load request fails with its text.

    References
    ----------
    core: src/model_repository_manager/model_repository_manager.cc, CheckNode;
    src/ensemble_scheduler/ensemble_utils.cc, ValidateEnsembleConfig
    """
    # Deferred: few models are ensembles.
    from blsnb.model.rules.tensor_flow import TensorFlow

    # Triton visits them in order of addresses: most often the last comes first.
    for model, versions in reversed(composing_models(config).items()):
        _check_loaded(config.name, model, versions, composing[model])
    flow = TensorFlow(config)
    for step in config.message.ensemble_scheduling.step:
        serving = composing[step.model_name].versions
        flow.connect(step, serving[max(serving)])
    message = config.message
    message.model_transaction_policy.decoupled = flow.is_decoupled()
    return ModelConfig.of(message)


def _check_loaded(
    ensemble: str, model: str, versions: Iterable[int], found: Composing
) -> None:
    depends = f"ensemble '{ensemble}' depends on '{model}'"
    if found.invalid:
        _refuse(
            f"{depends} which is not valid. Model '{model}' failed with error: "
            f"{found.invalid}"
        )
    if not found.versions:
        text = f"{depends} which has no loaded version."
        if found.failure is not None:
            text += f" Model '{model}' loading failed with error: {found.failure}"
        _refuse(text)
    absent = {*versions} - {*found.versions, LATEST}
    if absent:
        _refuse(f"{depends} whose required version {max(absent)} is not loaded.")


def _refuse(reason: str) -> NoReturn:
    raise ModelConfigError(reason, stage="dependency")
