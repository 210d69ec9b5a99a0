"""The requirements.txt of models: what they import, in the versions in use."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from blsnb.repository.imports import imported_modules

REQUIREMENTS = "requirements.txt"
_HEAD = """\
# What the models of this folder import, in the versions that were in use when it was
# exported (Python {python}). Triton's own Python may be another release: where a pin
# has no package for it, take the nearest one that has.
"""
_UNKNOWN = """
# Imported, but of no installed package; add what holds it, or put its file beside the
# model:
"""


def requirements_text(models: Iterable[Path]) -> str:
    """Return a text for pip, which also says what no package is known for.

    Parameters
    ----------
    models
        The models' folders.
    """
    users: dict[str, set[str]] = {}
    for folder in models:
        for module, files in imported_modules(folder).items():
            names = users.setdefault(module, set())
            names.update(f"{folder.name}/{file.as_posix()}" for file in files)
    # It looks at every package that is installed.
    providers = metadata.packages_distributions() if users else {}
    pins: set[str] = set()
    unknown: dict[str, set[str]] = {}
    for module, using in users.items():
        found = _distributions(module, providers)
        pins.update(f"{name}=={metadata.version(name)}" for name in found)
        if not found:
            unknown.setdefault(module.partition(".")[0], set()).update(using)
    return _text(sorted(pins, key=str.lower), unknown)


def _text(pins: Sequence[str], unknown: Mapping[str, set[str]]) -> str:
    lines = [f"{pin}\n" for pin in pins]
    if unknown:
        lines.append(_UNKNOWN)
    for name, files in sorted(unknown.items()):
        lines.append(f"# {name} ({', '.join(sorted(files))})\n")
    return _HEAD.format(python=platform.python_version()) + "".join(lines)


def _distributions(
    module: str, providers: Mapping[str, Sequence[str]]
) -> frozenset[str]:
    """Return the packages that a module comes from; more than one if it cannot be told.

    A name such as ``google`` belongs to many, so the files of each are looked at.
    """
    candidates = frozenset(providers.get(module.partition(".")[0], ()))
    if len(candidates) < 2:
        return candidates
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        path = "/".join(parts[:length])
        holding = frozenset(name for name in candidates if _holds(name, path))
        if holding:
            return holding
    return candidates


def _holds(distribution: str, path: str) -> bool:
    """Whether a package has a module at a path such as ``google/protobuf``."""
    files = metadata.files(distribution) or ()
    heads = (f"{path}.", f"{path}/")
    return any(file.as_posix().startswith(heads) for file in files)
