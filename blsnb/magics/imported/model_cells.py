"""The cells of a model on disk, for `%triton edit`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from blsnb.repository.directory import CONFIG_FILE, ModelDirectory, version_number
from blsnb.repository.imported.following import followed

_MAX_CELL_BYTES = 1 << 16
"""Maximum size in bytes of a file that becomes a cell."""
_PLAIN = r"[^\s\"'{}$]+"


def cells_of(directory: ModelDirectory) -> list[str]:
    """Return the cells of a model: its configuration, its sources, its other texts.

    Run in this order, they recreate these files. Binary, empty and large files have no
    cells and stay with the model.
    """
    paths = sorted(followed(directory.files()), key=_rank)
    return list(_cells(directory, paths))


def _rank(path: str) -> tuple[bool, bool, int, str]:
    is_model_file = _is_model_file(path)
    version = version_number(path.partition("/")[0]) if is_model_file else None
    return path != CONFIG_FILE, not is_model_file, version or 0, path


def _is_model_file(path: str) -> bool:
    version, _, name = path.partition("/")
    return name == "model.py" and version_number(version) is not None


def _cells(directory: ModelDirectory, paths: list[str]) -> Iterator[str]:
    for path in paths:
        text = None if path.endswith("/") else _text_of(directory.path / path)
        if text:
            yield f"{_magic(directory.name, path)}\n{text}"


def _magic(model: str, path: str) -> str:
    """Return the first line of the cell of a file."""
    if path == CONFIG_FILE:
        return f"%%triton_config {word(model)}"
    version = path.partition("/")[0]
    if _is_model_file(path):
        option = "" if version == "1" else f" --version {version}"
        return f"%%triton_model {word(model)}{option}"
    return f"%%triton_file {word(f'{model}/{path}')}"


def word(text: str) -> str:
    """Return a text as one word of a magic's line."""
    return text if re.fullmatch(_PLAIN, text) else f'"{text}"'


def _text_of(file: Path) -> str | None:
    """Return a file's text for a cell; None for binary and large files."""
    try:
        if os.path.getsize(file) > _MAX_CELL_BYTES:
            return None
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    if "\0" in text:
        return None
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    # IPython adds a newline to a cell that has none.
    ends_blank = lines.endswith("\n\n")
    return lines if ends_blank else lines.removesuffix("\n")
