"""Errors of failed loads, with the texts of Triton's load call."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

from blsnb.engine.instance.instance import HookFailed
from blsnb.engine.request.failure import notes_of
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.errors import ModelConfigError, ModelLoadError, WouldHang
from blsnb.model.config import ModelConfig
from blsnb.model.rules.lint import advised
from blsnb.repository.directory import ModelDirectory

CreateError = HookFailed | ModelConfigError
"""Why a version could not be made."""

_EXCEPTION = r"(Internal: )?\w*(Error|Exception|Exit|Interrupt)\b"
_CODE_TEXTS = {
    "INTERNAL": "Internal",
    "INVALID_ARG": "Invalid argument",
    "NOT_FOUND": "Not found",
    "UNAVAILABLE": "Unavailable",
    "UNSUPPORTED": "Unsupported",
    "ALREADY_EXISTS": "Already exists",
    "UNKNOWN": "Unknown",
}


def code_text(code: str) -> str:
    """Return the words of a Triton error code, with which its log lines begin."""
    return _CODE_TEXTS.get(code, code)


def poll_failed(name: str, reason: str, advice: str = "") -> ModelLoadError:
    """Return the error of a model that is not polled; its reason is logged."""
    return ModelLoadError(
        f"failed to load '{name}', failed to poll from model repository",
        code="INTERNAL",
        reason=reason,
        advice=advice,
        stage="poll",
    )


def dependency_failed(name: str, reason: str, advice: str) -> ModelLoadError:
    """Return the error of a model that fails before its versions are made."""
    return ModelLoadError(
        f"load failed for model '{name}': {reason}\n",
        reason=reason,
        advice=advice,
        stage="dependency",
    )


def no_version(directory: ModelDirectory, config: ModelConfig) -> ModelLoadError:
    """Return the error of a model without a version to load."""
    error = dependency_failed(
        directory.name,
        f"at least one version must be available under the version policy of model "
        f"'{directory.name}'",
        _version_advice(directory, config),
    )
    error.reasons = {}
    return error


def _version_advice(directory: ModelDirectory, config: ModelConfig) -> str:
    if directory.versions:
        present = ", ".join(map(str, directory.versions))
        return f"version_policy selects none of the versions in the folder: {present}."
    if config.is_ensemble:
        return (
            "An ensemble needs a version folder, which may be empty: mkdir "
            f"{directory.name}/1. Git does not keep empty folders, so a cloned "
            "repository has none."
        )
    # Deferred: few models lack a file.
    from blsnb.backends.backend_registry import missing_file_advice

    return missing_file_advice(config, directory.name)


def create_failed(
    name: str,
    numbers: Sequence[int],
    errors: Mapping[int, CreateError],
    serving: Collection[int],
) -> ModelLoadError:
    """Return the error of a model some of whose versions could not be made.

    Parameters
    ----------
    numbers
        The versions to load.
    errors
        Errors by version, in the order of the loads.
    serving
        Versions that still serve with their former instances.
    """
    reasons = {number: reason_of(error) for number, error in errors.items()}
    states = ""
    for number, reason in reasons.items():
        state = "READY" if number in serving else "UNAVAILABLE"
        states += f"version {number} is at {state} state: {reason};"
    return ModelLoadError(
        f"load failed for model '{name}': {states}\n",
        reason=next(iter(reasons.values())),
        advice="\n".join(dict.fromkeys(filter(None, map(_advice, errors.values())))),
        reasons=dict.fromkeys(numbers, "unloaded") | reasons,
    )


def out_of_memory(error: MemoryError | OverflowError) -> ModelConfigError:
    """Return the error of a version whose tensors are larger than the memory."""
    failure = ModelConfigError(
        "out of memory: the initial states or warm-up samples are too large",
        stage="create",
        code="INTERNAL",
        advice="Check the dims in sequence_batching.state and model_warmup.",
    )
    failure.__cause__ = error
    return failure


def reason_of(error: CreateError) -> str:
    """Return why a version was not made, as the repository index has it."""
    if isinstance(error, HookFailed):
        return f"Internal: {error.text}"
    return f"{code_text(error.code)}: {error.message}"


def _advice(error: CreateError) -> str:
    if isinstance(error, HookFailed):
        return "\n".join(notes_of(error.cause))
    return error.advice


def check_name(name: str) -> None:
    """Refuse a blank name or a path, in Triton's words."""
    if not name.strip():
        text = "Model name cannot be empty. Please enter a valid name to deploy."
        raise ModelLoadError(text, stage="poll")
    if "/" in name or name == "..":
        raise ModelLoadError(
            f"invalid model name '{name}', model name must not contain path traversal "
            "characters",
            stage="poll",
        )


def refuse_circle(name: str, root: RootRequest | None) -> NoReturn:
    """Raise an error for a load that waits for itself."""
    _refuse(
        f"Triton would hang: loading {name!r} calls initialize(), which calls "
        f"pb_utils.load_model({name!r}), which waits until {name!r} is loaded.",
        root,
    )


def refuse_crossed(name: str, root: RootRequest | None) -> NoReturn:
    """Raise an error for a load that waits for one that waits for it."""
    _refuse(
        f"Triton would hang: initialize() calls pb_utils.load_model({name!r}), which "
        f"waits for another load of {name!r}, which itself waits for this load.",
        root,
    )


def _refuse(text: str, root: RootRequest | None) -> NoReturn:
    hang = WouldHang(
        f"{text} Call load_model() in execute(), or load the models one after the "
        "other from a client."
    )
    if root is None:
        raise ModelLoadError(hang.message, code="INTERNAL")
    root.end(hang)
    raise Unwind


def with_findings(advice: str, directory: ModelDirectory, gpu_count: int) -> str:
    """Return advice, followed by warnings about the configuration."""
    try:
        found = advised(directory.config(), gpu_count=gpu_count)
    except ModelConfigError:
        # It could not be read, as the advice says.
        found = ""
    return "\n".join(filter(None, (advice, found)))


def last_line(error: BaseException) -> str:
    """Return the line of a failed load that names the exception."""
    reason = error.reason or error.message if isinstance(error, ModelLoadError) else ""
    lines = (reason or str(error)).strip().splitlines()
    named = [line.strip() for line in lines if re.match(_EXCEPTION, line.strip())]
    return (named or lines or [""])[0].removeprefix("Internal: ")
