"""Settings of a test's server: from marks, pytest options and the ini-file."""

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
    """A mark or an option of pytest is invalid."""


@dataclass(frozen=True, slots=True)
class FixtureSettings:
    """The server of a test; tests with equal settings can share one."""

    repositories: tuple[Path, ...] = ()
    models: tuple[str, ...] = (ALL,)
    share: str = "function"
    """Which tests share the server, as a name of `SCOPES`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `blsnb.Server`."""

    def arguments(self, tests: Path) -> dict[str, Any]:
        """Return the arguments of `blsnb.Server`.

        Parameters
        ----------
        tests
            The file of the test. A folder of the repository that contains it is not a
            model, unless it has a configuration or a version.
        """
        given = {"exit_timeout_s": _EXIT_S, **self.options}
        if self.models != (ALL,):
            given["startup_models"] = self.models
        elif given.get("model_control_mode", "explicit") == "explicit":
            given["startup_models"] = self._startup_models(tests)
        return {"model_repository": list(self.repositories) or None, **given}

    def _startup_models(self, tests: Path) -> tuple[str, ...]:
        from blsnb.repository.repository import models_in

        return tuple(
            name
            for root in self.repositories
            for name in sorted(models_in(root))
            if not (tests.is_relative_to(root / name) and _is_not_model(root / name))
        )


def _is_not_model(folder: Path) -> bool:
    return not (folder / "config.pbtxt").exists() and not any(
        each.name.isdecimal() for each in folder.iterdir()
    )


def settings_of(
    marks: Iterable[Mapping[str, Any]],
    repositories: Iterable[Path],
    share: str,
    folder: Path,
) -> FixtureSettings:
    """Return the settings of a test's server.

    Parameters
    ----------
    marks
        Arguments of the marks, the closest first, which has priority.
    repositories, share
        Defaults for what no mark sets.
    folder
        Folder of the test's file, to which paths in marks are relative.

    Raises
    ------
    SettingError
        A setting is unknown, or its value is invalid.
    """
    options: dict[str, Any] = {}
    for mark in marks:
        options = {**mark, **options}
    roots = options.pop("repository", None)
    models = options.pop("models", ALL)
    share = options.pop("share", None) or share or "function"
    if share not in SCOPES:
        known = ", ".join(SCOPES)
        raise SettingError(
            f"mark.triton: share={share!r} is not valid; expected {known}"
        )
    _check_options(options)
    return FixtureSettings(
        tuple(repositories) if roots is None else _paths(roots, folder),
        tuple(_listed("models", models)),
        share,
        options,
    )


def _paths(given: Any, folder: Path) -> tuple[Path, ...]:
    return tuple((folder / path).resolve() for path in _listed("repository", given))


def _listed(name: str, given: Any) -> Iterable[Any]:
    listed = [given] if isinstance(given, str | os.PathLike) else given
    if not isinstance(listed, Iterable):
        text = f"mark.triton: {name}={given!r} is not valid; expected one or several"
        raise SettingError(text)
    return listed


def _check_options(options: Mapping[str, Any]) -> None:
    import inspect

    from blsnb.inference_server import Server

    known = set(inspect.signature(Server).parameters)
    known -= {"model_repository", "startup_models"}
    for name in options:
        if name not in known:
            raise SettingError(
                f"mark.triton: unknown setting {name!r}; expected repository, models, "
                f"share, {', '.join(sorted(known))}"
            )
