"""What a test says of its server: marks, options of pytest, its ini-file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCOPES = ("function", "class", "module", "package", "session")
ALL = "*"
_EXIT_S = 1.0


class SettingError(ValueError):
    """A mark or an option says something that no server can have."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Which server a test gets; servers of the same settings can be shared."""

    repositories: tuple[Path, ...] = ()
    models: tuple[str, ...] | str = ALL
    share: str = "function"
    """Which tests share it: those of a class, a module, a package, all."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further ones, as `blsnb.Server` takes them."""

    def arguments(self, tests: Path) -> dict[str, Any]:
        """Return what `blsnb.Server` is given.

        Parameters
        ----------
        tests
            The file of the test. A folder of a repository that has it is no model,
            unless it looks like one.
        """
        given = {"exit_timeout_s": _EXIT_S, **self.options}
        if given.get("model_control_mode", "explicit") == "explicit":
            given["startup_models"] = self._startup_models(tests)
        return {"model_repository": list(self.repositories) or None, **given}

    def _startup_models(self, tests: Path) -> tuple[str, ...]:
        from blsnb.repository.repository import models_in

        if self.models != ALL:
            return tuple(self.models)
        return tuple(
            name
            for root in self.repositories
            for name in sorted(models_in(root))
            if not (tests.is_relative_to(root / name) and _is_no_model(root / name))
        )


def _is_no_model(folder: Path) -> bool:
    return not (folder / "config.pbtxt").exists() and not any(
        each.name.isdecimal() for each in folder.iterdir()
    )


def settings_of(
    marks: Iterable[Mapping[str, Any]],
    repositories: Iterable[Path],
    share: str,
    folder: Path,
) -> ServerSettings:
    """Return the settings of a test's server.

    Parameters
    ----------
    marks
        What its marks say, the closest first, which wins.
    repositories, share
        What holds where no mark says otherwise.
    folder
        What paths in marks are relative to: that of the test's file.

    Raises
    ------
    SettingError
        A setting is none, or has a value that it cannot have.
    """
    said: dict[str, Any] = {}
    for mark in marks:
        said = {**mark, **said}
    roots = said.pop("repository", None)
    models = said.pop("models", ALL)
    share = said.pop("share", None) or share or "function"
    if share not in SCOPES:
        known = ", ".join(SCOPES)
        raise SettingError(f"mark.triton: share must be one of {known}, not {share!r}")
    _check_options(said)
    return ServerSettings(
        tuple(repositories) if roots is None else _paths(roots, folder),
        models if models == ALL else _listed(models),
        share,
        said,
    )


def _paths(given: Any, folder: Path) -> tuple[Path, ...]:
    listed = [given] if isinstance(given, str | os.PathLike) else given
    return tuple((folder / path).resolve() for path in listed)


def _listed(models: Any) -> tuple[str, ...]:
    return (models,) if isinstance(models, str) else tuple(models)


def _check_options(options: Mapping[str, Any]) -> None:
    import inspect

    from blsnb.inference_server import Server

    known = set(inspect.signature(Server).parameters)
    known -= {"model_repository", "startup_models"}
    for name in options:
        if name not in known:
            raise SettingError(
                f"mark.triton has no {name!r}; it has repository, models, share, "
                f"{', '.join(sorted(known))}"
            )
