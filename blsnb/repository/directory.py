"""The folder of one model, read as Triton reads it."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from blsnb.errors import ModelConfigError
from blsnb.model.backend_fields import Entries, identifies_backend
from blsnb.model.config import ModelConfig, parse_pbtxt

CONFIG_FILE = "config.pbtxt"
_NUMBER = r"[ \t]*\+?(?P<number>[0-9]+)"
"""A number as C reads it; the text after it is ignored."""
MAX_VERSION = (1 << 63) - 1
"""Maximum number of a version: Triton crashes on a larger one."""
_SOURCES = (".py", ".pbtxt")


class FileStamp(NamedTuple):
    """Time, size and inode of a file, which change with it."""

    modified_ns: int
    byte_size: int
    inode: int = 0


def stamp_of(found: os.stat_result) -> FileStamp:
    """Return the stamp of a file or folder; the size of a folder says nothing."""
    size = 0 if stat.S_ISDIR(found.st_mode) else found.st_size
    return FileStamp(found.st_mtime_ns, size, found.st_ino)


Files = Mapping[str, FileStamp]
"""The files of a model's folder by path; the paths of folders end with a slash."""


class ModelDirectory(NamedTuple):
    """A folder of a model repository.

    Parameters
    ----------
    path
        ``<repository>/<model>``.
    model
        The model's name, if it is not the last part of the path.
    override
        The configuration that replaces the folder's.
    config_name
        Name of the file in ``configs`` that replaces ``config.pbtxt``, if it exists.

    References
    ----------
    core: src/model_repository_manager.cc; src/filesystem
    """

    path: Path
    model: str = ""
    override: ModelConfig | None = None
    config_name: str = ""

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model or self.path.name

    @property
    def config_file(self) -> Path:
        """Path of the configuration, which may not exist."""
        if self.config_name:
            other = self.path / "configs" / f"{self.config_name}.pbtxt"
            if os.path.exists(other):
                return other
        return self.path / CONFIG_FILE

    @property
    def versions(self) -> list[int]:
        """Numbers of the version folders, ascending.

        Names are read as C reads a number: ``3abc`` is 3. Names that do not begin with
        a digit, or have a leading zero, are ignored.
        """
        found = (version_number(entry.name) for entry in folders_in(self.path))
        return sorted({number for number in found if number is not None})

    def version_dir(self, number: int) -> Path:
        """Return the folder of a version."""
        return self.path / str(number)

    @property
    def is_configured(self) -> bool:
        """Whether there is a configuration, even an empty one."""
        return self.override is not None or self.config_file.exists()

    def check_config_file(self) -> None:
        """Refuse a folder without a configuration.

        Raises
        ------
        ModelConfigError
            With Triton's text.
        """
        file = self.config_file
        if not self.is_configured:
            raise ModelConfigError(
                f"failed to open text file for read {file}: No such file or directory",
                code="INTERNAL",
                advice="With strict_model_config every model needs a config.pbtxt.",
            )

    def config(self) -> ModelConfig:
        """Return the configuration as written; an empty one if there is no file.

        Raises
        ------
        ModelConfigError
            The text is not a configuration, or not UTF-8 outside of its comments.
        """
        if self.override is not None:
            return self.override
        file = self.config_file
        try:
            if not file.exists():
                return ModelConfig()
            if not file.is_file() and not file.is_dir():
                # Opening a pipe could block forever.
                raise OSError(errno.EINVAL, "Not a file")
            # A lone carriage return ends no line, and so no comment.
            text = file.read_bytes().decode("utf-8", "surrogateescape")
        except OSError as error:
            raise ModelConfigError(
                f"failed to open text file for read {file}: {error.strerror}",
                code="INTERNAL",
                advice="It must be a readable file.",
            ) from error
        try:
            return parse_pbtxt(text, path=str(file))
        except ModelConfigError as error:
            error.advice += _not_utf8(text)
            raise

    def files(self) -> Files:
        """Return time and size of the folder and of everything in it, by path.

        Links are followed; broken ones are left out.
        """
        return dict(_stamps(self.path, "", frozenset()))

    def is_ensemble(self) -> bool:
        """Whether there is a valid configuration of an ensemble."""
        try:
            return self.config().is_ensemble
        except ModelConfigError:
            return False

    def has_model_file(self) -> bool:
        """Whether a version has a file that implies a backend, such as model.py."""
        return any(
            identifies_backend(_entries(self.version_dir(number)))
            for number in self.versions
        )

    def first_entries(self) -> Entries:
        """Return the entries of the first folder, which Triton takes for a version."""
        folders = sorted(entry.path for entry in folders_in(self.path))
        return _entries(Path(folders[0])) if folders else {}

    def chosen_versions(self, config: ModelConfig) -> list[int]:
        """Return the versions that the configuration's policy selects, ascending."""
        present = self.versions
        policy = config.version_policy
        match policy.WhichOneof("policy_choice"):
            # A policy without a choice is no policy.
            case "all" | None:
                return present
            case "specific":
                wanted = set(policy.specific.versions)
                return [number for number in present if number in wanted]
            case _:
                count = int(policy.latest.num_versions)
                return present[-count:] if count else []


def version_number(name: str) -> int | None:
    """Return the version of a folder's name; None if the name is not a version.

    References
    ----------
    core: src/model_lifecycle.cc, VersionStates; src/filesystem
    """
    match = re.match(_NUMBER, name)
    if match is None or (name[0] == "0" and len(name) > 1):
        return None
    number = int(match["number"])
    return number if number <= MAX_VERSION else None


def folders_in(path: Path) -> list[os.DirEntry[str]]:
    """Return the folders in a folder, links included; none if it is unreadable."""
    try:
        with os.scandir(path) as entries:
            return [entry for entry in entries if _is_folder(entry)]
    except (OSError, ValueError):
        return []


def _entries(path: Path) -> Entries:
    """Return the entries of a folder, links followed; none if it is unreadable."""
    try:
        with os.scandir(path) as found:
            return {entry.name: _is_folder(entry) for entry in found}
    except OSError:
        return {}


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        # A circle of links.
        return False


def _stamps(
    path: Path, inner: str, above: frozenset[tuple[int, int]]
) -> Iterator[tuple[str, FileStamp]]:
    """Yield the stamps of a folder and of everything below it."""
    try:
        found = path.stat()
        with os.scandir(path) as entries:
            listed = list(entries)
    except OSError:
        # It was removed concurrently, or is not readable.
        return
    here = (found.st_dev, found.st_ino)
    if here in above:
        # A link to a folder above it.
        return
    yield inner, stamp_of(found)
    for entry in listed:
        try:
            stamp, deeper = stamp_of(entry.stat()), entry.is_dir()
        except OSError:
            continue
        if deeper:
            yield from _stamps(
                Path(entry.path), f"{inner}{entry.name}/", above | {here}
            )
        else:
            yield inner + entry.name, stamp


def newest_ns(files: Files) -> int:
    """Return the time of the last change; 0 without files."""
    return max((stamp.modified_ns for stamp in files.values()), default=0)


def is_version_changed(
    number: int, before: Files, now: Files, config_entry: str
) -> bool:
    """Whether a version's files, or files shared by all versions, are newer.

    Parameters
    ----------
    config_entry
        The entry of the model's folder that is, or contains, its configuration; it is
        ignored, since configurations are compared by content.

    References
    ----------
    core: src/model_repository_manager/model_repository_manager.cc,
    ModelTimestamp::IsModelVersionModified
    """
    folder = f"{number}/"
    for path, stamp in now.items():
        entry = path.partition("/")[0]
        is_version = "/" in path and version_number(entry) is not None
        others = is_version and not path.startswith(folder)
        if not entry or entry == config_entry or others:
            continue
        known = before.get(path)
        if known is None or stamp.modified_ns > known.modified_ns:
            return True
    return False


def sources(files: Files) -> dict[str, FileStamp]:
    """Return the files that users edit: Python files and configurations."""
    return {path: files[path] for path in files if path.endswith(_SOURCES)}


def _not_utf8(text: str) -> str:
    """Return advice on bytes that are not UTF-8; empty without any."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        return f"\nLine {line} is not UTF-8 text, which only comments may be."
    return ""
