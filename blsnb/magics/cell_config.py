"""The configuration and the extra files that the options of a cell name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from IPython.core.error import UsageError

if TYPE_CHECKING:
    from blsnb.model.config import ModelConfig
    from blsnb.model.model_options import ModelOptions


class CellConfig(NamedTuple):
    """A configuration that a cell wrote, and what it was composed of."""

    text: str
    base: str | None
    """The user's own text, without the options."""
    options: ModelOptions


def compose(base: str | None, options: ModelOptions) -> CellConfig:
    """Merge options into a text, whose comments and formatting stay."""
    from blsnb.model.config import ModelConfig, parse_pbtxt
    from blsnb.model.model_options import ModelOptions, merge_options
    from blsnb.model.text.edited_text import edited

    if options == ModelOptions():
        return CellConfig(base or "", base, options)
    config = ModelConfig() if base is None else parse_pbtxt(base)
    merged: ModelConfig = merge_options(config, options)
    return CellConfig(edited(base or "", merged.message), base, options)


def configuration_text(given: str, namespace: Mapping[str, Any]) -> str:
    """Return the text that ``--config`` names: of a variable or a file."""
    from blsnb.model.config import ModelConfig

    value = namespace.get(given, Path(os.path.expanduser(given)))
    match value:
        case str():
            return value
        case ModelConfig():
            return value.to_pbtxt()
        case Path() if os.path.isfile(value):
            # Comments may contain any bytes, which stay as they are.
            return value.read_text("utf-8", "surrogateescape")
        case Path():
            raise UsageError(
                f"--config {given}: there is no variable and no file of that name"
            )
    raise UsageError(
        f"--config {given}: the variable holds a {type(value).__name__}, "
        "not the text of a config.pbtxt or a path to one"
    )


def extra_files(given: list[str]) -> dict[str, Path]:
    """Return the sources of ``--file PATH[:DEST]``, by their path beside the model."""
    files: dict[str, Path] = {}
    for word in given:
        source, destination = _source_and_destination(word)
        if os.path.isdir(source):
            inner = (path for path in sorted(source.rglob("*")) if path.is_file())
            files |= {
                f"{destination}/{path.relative_to(source).as_posix()}": path
                for path in inner
                if "__pycache__" not in path.parts
            }
        elif os.path.isfile(source):
            files[destination] = source
        else:
            raise UsageError(f"--file {word}: there is no file {source}")
    return files


def _source_and_destination(word: str) -> tuple[Path, str]:
    whole = Path(os.path.expanduser(word))
    path, colon, destination = word.rpartition(":")
    if os.path.exists(whole) or not colon or not destination:
        return whole, whole.name
    return Path(os.path.expanduser(path)), destination.strip("/")
