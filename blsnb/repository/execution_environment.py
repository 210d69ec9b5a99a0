"""Environments that models name in EXECUTION_ENV_PATH, read without extracting."""

from __future__ import annotations

import functools
import os
import platform
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.printable import listed, printable

if TYPE_CHECKING:
    import tarfile

    from blsnb.files.read_budget import InflatedStream

PARAMETER = "EXECUTION_ENV_PATH"
"""Parameter of a model's configuration: path of a folder or a packed environment."""
_MODEL_DIRECTORY = "$$TRITON_MODEL_DIRECTORY"
_ACTIVATE = "bin/activate"
_MAX_BYTES = 256 << 20
"""Maximum number of bytes read of an archive, inflated."""
_MAX_ENTRIES = 50_000
"""Maximum number of entries read of an archive."""
_MAX_NAME = 512
"""Maximum number of characters in the path of a package's record."""
_SHOWN = 12
"""Maximum number of packages in a note."""
_GZIP = b"\x1f\x8b"
_CONDA = r"(?:^|/)conda-meta/(.+)-([^-/]+)-[^-/]+\.json$"
_WHEEL = r"(?:^|/)site-packages/([^/]+?)-([^-/]+)\.dist-info(?:/|$)"


class EnvironmentPathError(ValueError):
    """Triton refuses the environment; the text is Triton's."""


class _LimitError(Exception):
    """An archive is larger than what is read of it."""


class _Bounded:
    """A file of which a limited number of bytes is read."""

    def __init__(self, file: InflatedStream) -> None:
        self._file = file
        self._left = _MAX_BYTES

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes; none at the end."""
        if self._left <= 0:
            raise _LimitError
        piece = self._file.read(size)
        self._left -= len(piece)
        return piece


def environment_note(name: str, value: str, folder: Path) -> str:
    """Check a model's environment; return how it differs from the notebook's.

    Parameters
    ----------
    name
        The model's name.
    value
        The text of its parameter `PARAMETER`; empty for none.
    folder
        The model's folder.

    Returns
    -------
    note
        A sentence with the packages that differ; empty without differences.

    Raises
    ------
    EnvironmentPathError
        Triton does not load the model with this path.

    References
    ----------
    python_backend: src/python_be.cc, src/pb_env.cc, src/stub_launcher.cc
    """
    if not value:
        return ""
    path = _located(value, folder)
    status = path.stat()
    packages = _packages(path, status.st_mtime_ns, status.st_size)
    differing = sorted(_differences(packages))
    if packages and not differing:
        return ""
    shown = listed(differing, _SHOWN)
    found = f"packages differ: {shown}" if shown else "no packages were found"
    return printable(
        f"{name} runs with the notebook's Python and packages, not with those of "
        f"{PARAMETER}. In {path.name} {found}."
    )


def _located(value: str, folder: Path) -> Path:
    """Return the canonical path; Triton's keyword stands for the model's folder."""
    at = value.find(_MODEL_DIRECTORY)
    if at >= 0:
        # Triton replaces as many characters more as stand before the keyword.
        value = f"{value[:at]}{folder}{value[2 * at + len(_MODEL_DIRECTORY) :]}"
    try:
        return Path(os.path.realpath(value, strict=True))
    except OSError as error:
        raise EnvironmentPathError(
            f"Failed to get the canonical path for {value}."
        ) from error


@functools.lru_cache(32)
def _packages(path: Path, modified_ns: int, size: int) -> dict[str, str]:
    """Return the packages of an environment with their versions.

    Parameters
    ----------
    modified_ns, size
        Of the archive: another one is read anew.
    """
    names = _in_folder(path) if path.is_dir() else _in_archive(path)
    conda: dict[str, str] = {}
    wheels: dict[str, str] = {}
    active = False
    for name in names:
        active = active or name.removeprefix("./") in (_ACTIVATE, "")
        for pattern, found in ((_CONDA, conda), (_WHEEL, wheels)):
            if len(name) <= _MAX_NAME and (match := re.search(pattern, name)):
                found[match[1].lower().replace("_", "-")] = match[2]
    if not active:
        raise EnvironmentPathError(
            f"Path {path / _ACTIVATE} does not exist. The Python environment should "
            "contain an 'activate' script."
        )
    # Most packages of Conda that the notebook lacks are libraries of the system.
    return {name: conda[name] for name in conda if _installed(name)} | wheels


def _in_folder(path: Path) -> Iterator[str]:
    if (path / _ACTIVATE).is_file():
        yield _ACTIVATE
    patterns = ("conda-meta/*.json", "lib/python3*/site-packages/*.dist-info")
    for pattern in patterns:
        yield from (each.as_posix() for each in path.glob(pattern))


def _in_archive(path: Path) -> Iterator[str]:
    """Yield the names in an archive; an empty one where more was not read."""
    import gzip
    import tarfile

    with path.open("rb") as raw:
        packed = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        whole = _Bounded(gzip.GzipFile(fileobj=raw) if packed else raw)
        try:
            # It is read by the generator below, and closes nothing of its own.
            archive = tarfile.open(fileobj=whole, mode="r|")  # type: ignore[call-overload]  # noqa: SIM115
        except (tarfile.TarError, *_DAMAGED) as error:
            raise EnvironmentPathError(
                "archive_read_open_filename() failed."
            ) from error
        try:
            yield from _names(archive)
        except (tarfile.TarError, *_DAMAGED) as error:
            raise EnvironmentPathError(
                "archive_read_data_block() failed with error code = -30"
            ) from error
        except _LimitError:
            yield ""


_DAMAGED = (EOFError, OSError, ValueError, zlib.error)


def _names(archive: tarfile.TarFile) -> Iterator[str]:
    for _ in range(_MAX_ENTRIES):
        entry = archive.next()
        if entry is None:
            return
        # Otherwise every entry is kept.
        archive.members.clear()  # type: ignore[attr-defined]
        yield entry.name
    raise _LimitError


def _differences(packages: Mapping[str, str]) -> Iterator[str]:
    """Yield each package whose version is not the notebook's."""
    for name, version in packages.items():
        here = _installed(name)
        if here != version:
            yield f"{name} {version} ({f'here {here}' if here else 'not here'})"


def _installed(name: str) -> str | None:
    """Return the version of a package in this process."""
    from importlib import metadata

    if name == "python":
        return platform.python_version()
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
