"""ModelDirectory: one model's folder, read as Triton reads it."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig, parse_pbtxt

CONFIG_FILE = "config.pbtxt"
_VERSION = re.compile(r"[1-9]\d*|0")


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

    References
    ----------
    core: src/model_repository_manager.cc; src/filesystem
    """

    path: Path
    model: str = ""
    override: ModelConfig | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model or self.path.name

    @property
    def config_file(self) -> Path:
        """Where the configuration is, if there is one."""
        return self.path / CONFIG_FILE

    @property
    def versions(self) -> list[int]:
        """Numbers of the version folders, ascending.

        Names that are no decimal number, or have a leading zero, are ignored.
        """
        if not self.path.is_dir():
            return []
        return sorted(
            int(entry.name)
            for entry in self.path.iterdir()
            if entry.is_dir() and _VERSION.fullmatch(entry.name)
        )

    def version_dir(self, number: int) -> Path:
        """Return the folder of a version."""
        return self.path / str(number)

    def config(self) -> ModelConfig:
        """Return the configuration as written; an empty one if there is none.

        Raises
        ------
        ModelConfigError
            The text is no configuration, or no UTF-8.
        """
        if self.override is not None:
            return self.override
        if not self.config_file.is_file():
            return ModelConfig()
        try:
            text = self.config_file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ModelConfigError(
                f"failed to read text proto from {self.config_file}",
                code="INTERNAL",
                advice=f"The file is no UTF-8 text: {error}.",
            ) from error
        return parse_pbtxt(text, path=str(self.config_file))

    def modified_ns(self) -> int:
        """Return when the folder, or anything in it, was changed last."""
        newest = 0
        for path in (self.path, *self.path.rglob("*")):
            # A file may go while we look.
            with contextlib.suppress(FileNotFoundError):
                newest = max(newest, path.stat().st_mtime_ns)
        return newest

    def has_model_file(self) -> bool:
        """Whether a version holds ``model.py``, which tells the backend."""
        return any(
            (self.version_dir(number) / "model.py").is_file()
            for number in self.versions
        )

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
