"""ModelDirectory: one model's folder, read as Triton reads it."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from blsnb.errors import ModelConfigError
from blsnb.model.backend_fields import Entries, identifies_backend
from blsnb.model.config import ModelConfig, parse_pbtxt

CONFIG_FILE = "config.pbtxt"
_NUMBER = re.compile(r"[ \t]*\+?(?P<number>\d+)")
"""What C reads as a number: whatever follows it is not looked at."""
_LARGEST = (1 << 63) - 1
_SOURCES = (".py", ".pbtxt")


class Stamp(NamedTuple):
    """What tells that a file was changed."""

    modified_ns: int
    byte_size: int


Files = Mapping[str, Stamp]
"""Of a model's folder: by path in it, folders with a slash behind."""


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """A folder of a model repository.

    Parameters
    ----------
    path
        ``<repository>/<model>``.
    model
        The model's name, where it is not the last part of the path.
    override
        The configuration that takes the place of the one in the folder.
    config_name
        Of the file in ``configs`` that takes the place of ``config.pbtxt``, if it is
        there.

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
        """Where the configuration is, if there is one."""
        if self.config_name:
            other = self.path / "configs" / f"{self.config_name}.pbtxt"
            if os.path.exists(other):
                return other
        return self.path / CONFIG_FILE

    @property
    def versions(self) -> list[int]:
        """Numbers of the version folders, ascending.

        A name is read as C reads a number: ``3abc`` is 3. Names that begin with
        none, have a leading zero, or are below 0, are ignored.
        """
        found = (version_number(entry.name) for entry in folders_in(self.path))
        return sorted({number for number in found if number is not None})

    def version_dir(self, number: int) -> Path:
        """Return the folder of a version."""
        return self.path / str(number)

    @property
    def is_configured(self) -> bool:
        """Whether there is a configuration, however little it says."""
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
        """Return the configuration as written; an empty one if there is none.

        Raises
        ------
        ModelConfigError
            The text is no configuration, or no UTF-8.
        """
        if self.override is not None:
            return self.override
        file = self.config_file
        try:
            if not file.exists():
                return ModelConfig()
            if not file.is_file() and not file.is_dir():
                # To open a pipe could take for ever.
                raise OSError(errno.EINVAL, "Not a file")
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise _unreadable(file, error) from error
        except UnicodeDecodeError as error:
            raise ModelConfigError(
                f"failed to read text proto from {file}",
                code="INTERNAL",
                advice=f"The file is no UTF-8 text: {error}.",
            ) from error
        return parse_pbtxt(text, path=str(file))

    def files(self) -> Files:
        """Return time and size of the folder and of all that is in it, by path.

        Links are followed; one that leads nowhere is left out.
        """
        return dict(_stamps(self.path, "", frozenset()))

    def modified_ns(self) -> int:
        """Return when the folder, or anything in it, was changed last."""
        return newest_ns(self.files())

    def is_ensemble(self) -> bool:
        """Whether the configuration, as far as it can be read, is an ensemble's."""
        try:
            return self.config().is_ensemble
        except ModelConfigError:
            return False

    def has_model_file(self) -> bool:
        """Whether a version holds a file that tells the backend, as model.py does."""
        return any(
            identifies_backend(_entries(self.version_dir(number)))
            for number in self.versions
        )

    def first_entries(self) -> Entries:
        """Return what is in the folder that Triton takes for the first version's.

        That is the one whose name sorts first, whatever it is.
        """
        folders = sorted(entry.path for entry in folders_in(self.path))
        return _entries(Path(folders[0])) if folders else {}

    def chosen_versions(self, config: ModelConfig) -> list[int]:
        """Return the versions that the configuration's policy asks for, ascending."""
        present = self.versions
        policy = config.version_policy
        match policy.WhichOneof("policy_choice"):
            case "all":
                return present
            case "specific":
                wanted = set(policy.specific.versions)
                return [number for number in present if number in wanted]
            case _:
                count = int(policy.latest.num_versions)
                return present[-count:] if count else []


def version_number(name: str) -> int | None:
    """Return the version that a folder's name stands for; None if it is none.

    References
    ----------
    core: src/model_lifecycle.cc, VersionStates; src/filesystem
    """
    match = _NUMBER.match(name)
    if match is None or (name[0] == "0" and len(name) > 1):
        return None
    number = int(match["number"])
    # On a larger one Triton ends.
    return number if number <= _LARGEST else None


def folders_in(path: Path) -> list[os.DirEntry[str]]:
    """Return the folders in a folder, and links to such; none if it cannot be read."""
    try:
        with os.scandir(path) as entries:
            return [entry for entry in entries if _is_folder(entry)]
    except OSError:
        return []


def _entries(path: Path) -> Entries:
    """Return what is in a folder, links followed; nothing if it cannot be read."""
    try:
        with os.scandir(path) as found:
            return {entry.name: _is_folder(entry) for entry in found}
    except OSError:
        return {}


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        # Links in a circle.
        return False


def _stamps(
    path: Path, inner: str, above: frozenset[tuple[int, int]]
) -> Iterator[tuple[str, Stamp]]:
    """Yield the stamps of a folder and of all that is below it."""
    try:
        found = path.stat()
        with os.scandir(path) as entries:
            listed = list(entries)
    except OSError:
        # It may go, or be forbidden, while we look.
        return
    here = (found.st_dev, found.st_ino)
    if here in above:
        # A link to a folder that it lies in.
        return
    yield inner, Stamp(found.st_mtime_ns, 0)
    for entry in listed:
        try:
            stat, deeper = entry.stat(), entry.is_dir()
        except OSError:
            continue
        if deeper:
            yield from _stamps(
                Path(entry.path), f"{inner}{entry.name}/", above | {here}
            )
        else:
            yield inner + entry.name, Stamp(stat.st_mtime_ns, stat.st_size)


def newest_ns(files: Files) -> int:
    """Return the time of what was changed last; 0 for nothing."""
    return max((stamp.modified_ns for stamp in files.values()), default=0)


def is_version_changed(
    number: int, before: Files, now: Files, config_entry: str
) -> bool:
    """Whether a version's files, or some that all versions share, are newer.

    Parameters
    ----------
    config_entry
        What in the model's folder is, or holds, its configuration, which is judged
        by what it says.

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


def sources(files: Files) -> dict[str, Stamp]:
    """Return those that a person writes: Python files and configurations."""
    return {path: files[path] for path in files if path.endswith(_SOURCES)}


def _unreadable(file: Path, error: OSError) -> ModelConfigError:
    """Return the error of a configuration that is there and cannot be read."""
    return ModelConfigError(
        f"failed to open text file for read {file}: {error.strerror}",
        code="INTERNAL",
        advice="It must be a file, and one that may be read.",
    )
