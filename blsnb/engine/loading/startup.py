"""Model control modes, and the models loaded when a server starts."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

from blsnb.engine.loading.control import ModelControl
from blsnb.engine.loading.load_failures import code_text
from blsnb.engine.model_log import NoteWriter
from blsnb.errors import ModelLoadError
from blsnb.pb_utils.logger import server_event
from blsnb.repository.repository import ModelRepository

_WILDCARD = "*"


class ControlMode(enum.StrEnum):
    """Triton's model control modes."""

    NONE = "none"
    """All models are loaded at startup; changed files are ignored."""
    POLL = "poll"
    """All models of the repository serve, and it is polled for changes."""
    EXPLICIT = "explicit"
    """Models are loaded and unloaded by name."""


def parse_control_mode(text: str, startup_models: Sequence[str]) -> ControlMode:
    """Return the mode of a name.

    Raises
    ------
    ValueError
        The name is invalid, or the mode does not allow the startup models.

    References
    ----------
    core: src/server.cc, InferenceServer::Init
    """
    if text not in list(ControlMode):
        *first, last = map(repr, map(str, ControlMode))
        raise ValueError(
            f"model_control_mode={text!r} is not valid; "
            f"expected {', '.join(first)} or {last}"
        )
    mode = ControlMode(text)
    if startup_models and mode is not ControlMode.EXPLICIT:
        raise ValueError(
            "Use of '--load-model' requires setting '--model-control-mode=explicit' "
            f"as well: startup_models cannot be used with model_control_mode={text!r}"
        )
    if _WILDCARD in startup_models and len(startup_models) > 1:
        raise ValueError(
            f"Wildcard model name '{_WILDCARD}' must be the ONLY startup model if "
            "specified at all."
        )
    return mode


def load_startup_models(
    control: ModelControl,
    repository: ModelRepository,
    mode: ControlMode,
    startup_models: Sequence[str],
    *,
    exit_on_error: bool,
    note: NoteWriter,
) -> None:
    """Load the models that a mode loads at startup.

    Parameters
    ----------
    exit_on_error
        Whether to raise the error of a model that does not load, after trying the
        others; otherwise it is logged, as on Triton.

    Raises
    ------
    ModelLoadError
        With the text with which Triton exits.

    References
    ----------
    core: src/server.cc, InferenceServer::Init
    """
    named = mode is ControlMode.EXPLICIT and _WILDCARD not in startup_models
    names = dict.fromkeys(startup_models) if named else repository.names()
    failed: dict[str, ModelLoadError] = {}
    for name in names:
        try:
            control.bring_up(name)
        except ModelLoadError as error:
            failed[name] = error
            note(name, "ERROR", f"{error.message}\n{error.reason}")
    if not failed:
        return
    combined = _combined(failed, mode, repository)
    if exit_on_error:
        raise combined
    server_event("E", "%s: %s", code_text(combined.code), combined.message)


def _combined(
    failed: dict[str, ModelLoadError], mode: ControlMode, repository: ModelRepository
) -> ModelLoadError:
    """Return Triton's error: that of the first model, or of the whole startup."""
    errors = list(failed.values())
    taken_up = [error for error in errors if error.stage != "poll"]
    if mode is ControlMode.EXPLICIT and len(taken_up) == len(errors):
        return taken_up[0]
    reasons = [f"{name}: {error.reason.strip()}" for name, error in failed.items()]
    return ModelLoadError(
        "failed to load all models",
        code="INTERNAL",
        reason="\n".join(reasons),
        advice=f"{_advice_on_folders(failed, repository)}"
        "With exit_on_error=False a server starts nevertheless.",
        stage="poll",
    )


def _advice_on_folders(names: Iterable[str], repository: ModelRepository) -> str:
    """Return advice on folders that are not models, such as a folder of tests."""
    folders = {name: repository.directory(name) for name in names}
    others = [
        repr(name)
        for name, folder in folders.items()
        if folder is not None and not (folder.is_configured or folder.versions)
    ]
    if not others:
        return ""
    return (
        "Triton takes every folder of a repository for a model, and would not start "
        f"either: {', '.join(others)} with neither a configuration nor a version can "
        "be moved elsewhere.\n"
    )
