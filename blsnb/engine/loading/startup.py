"""Startup: the models that serve when a server is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from blsnb.engine.loading.control import ModelControl
from blsnb.engine.loading.control_mode import WILDCARD, ControlMode
from blsnb.errors import ModelLoadError
from blsnb.repository.repository import ModelRepository

LogWriter = Callable[[str, str, str, str, int], None]


def load_startup_models(
    control: ModelControl,
    repository: ModelRepository,
    startup_models: Sequence[str],
    *,
    exit_on_error: bool,
    log: LogWriter,
) -> None:
    """Load the models that a mode loads at the start.

    Parameters
    ----------
    exit_on_error
        Whether a model that does not load is an error, after all others were tried;
        else it is logged.

    Raises
    ------
    ModelLoadError
        With the text with which Triton ends.

    References
    ----------
    core: src/server.cc, InferenceServer::Init
    """
    named = control.mode is ControlMode.EXPLICIT and WILDCARD not in startup_models
    names = dict.fromkeys(startup_models) if named else repository.names()
    failed: dict[str, ModelLoadError] = {}
    for name in names:
        try:
            control.bring_up(name)
        except ModelLoadError as error:
            failed[name] = error
            log(name, "ERROR", f"{error.message}\n{error.reason}", "startup.py", 0)
    if failed and exit_on_error:
        raise _first(failed, control.mode, repository)


def _first(
    failed: dict[str, ModelLoadError], mode: ControlMode, repository: ModelRepository
) -> ModelLoadError:
    """Return the error for all of them: Triton tells one, or that there is one."""
    errors = list(failed.values())
    told = [error for error in errors if error.stage != "poll"]
    if mode is ControlMode.EXPLICIT and len(told) == len(errors):
        return told[0]
    reasons = [f"{name}: {error.reason.strip()}" for name, error in failed.items()]
    return ModelLoadError(
        "failed to load all models",
        code="INTERNAL",
        reason="\n".join(reasons),
        advice=f"{_of_folders(failed, repository)}"
        "With exit_on_error=False a server starts all the same.",
        stage="poll",
    )


def _of_folders(names: Iterable[str], repository: ModelRepository) -> str:
    """Return what to say of folders that nobody meant as models: of tests, say."""
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
