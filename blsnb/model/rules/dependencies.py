"""What Triton refuses in an ensemble once its composing models are known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.rules.tensor_flow import TensorFlow

LATEST = -1


@dataclass(frozen=True, slots=True)
class Composing:
    """What became of a model of which an ensemble is made.

    Parameters
    ----------
    versions
        The configurations of the versions that serve, completed.
    failure
        What its load answered after ``load failed for model '…': ``, without the
        line break at the end; None where it did not fail.
    invalid
        Why the model, an ensemble too, is refused at stage ``dependency``.
    """

    versions: Mapping[int, ModelConfig] = field(default_factory=dict)
    failure: str | None = None
    invalid: str = ""


def composing_models(config: ModelConfig) -> dict[str, set[int]]:
    """Return the models of an ensemble in order of its steps, with their versions.

    A step that names no version asks for version 0; -1 is the latest.
    """
    models: dict[str, set[int]] = {}
    for step in config.message.ensemble_scheduling.step:
        models.setdefault(step.model_name, set()).add(step.model_version)
    return models


def find_faults(
    configs: Mapping[str, ModelConfig], names: Iterable[str]
) -> dict[str, str]:
    """Return why ensembles cannot be loaded, before anything is.

    Parameters
    ----------
    configs
        Every model that is loaded or was read from a repository, by name.
    names
        Those that were read for this load.

    Returns
    -------
    dict
        A reason by name for each ensemble of which a model is missing, the first in
        order of its steps, and for those of a circle. A name may be there that was
        not asked for.

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
            # Triton has a list for the names, and never more than one in it.
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
    """Return Triton's text if a way leads from a model back to the start."""
    for model in needed.get(current, ()):
        if model == start:
            return (
                f"circular dependency between ensembles: {start} -> ... -> {current} "
                f"-> {start}"
            )
        # Triton sees no circle beside the start: it goes round until it crashes.
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
    """Refuse what Triton refuses once the composing models are loaded.

    Returns
    -------
    ModelConfig
        With the ``decoupled`` that follows from the composing models; what the
        configuration says is overwritten.

    Raises
    ------
    ModelConfigError
        At stage ``dependency``: the load call answers its text.

    References
    ----------
    core: src/model_repository_manager/model_repository_manager.cc, CheckNode;
    src/ensemble_scheduler/ensemble_utils.cc, ValidateEnsembleConfig
    """
    # Triton's order is that of addresses: most often the last comes first.
    for model, versions in reversed(composing_models(config).items()):
        _check_loaded(config.name, model, versions, composing[model])
    flow = TensorFlow(config)
    for step in config.message.ensemble_scheduling.step:
        serving = composing[step.model_name].versions
        flow.connect(step, serving[max(serving)])
    message = config.message
    message.model_transaction_policy.SetInParent()
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
