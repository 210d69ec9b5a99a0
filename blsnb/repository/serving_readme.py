"""How to serve an export: its README.md, and notes on its models."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.printable import printable
from blsnb.repository.deployment import template
from blsnb.repository.directory import ModelDirectory

README = "README.md"
_BLSNB_PARAMETERS = {
    "BLSNB_ZERO_COPY": "on Triton every input is a copy that may be written",
    "BLSNB_THREAD": "on Triton every instance has a process, and so a thread, of its "
    "own anyway",
}
_LAST_NUMPY_1_RELEASE = (24, 10)
_NUMPY_2 = re.compile(r"^numpy==([2-9]|\d\d)", re.MULTILINE)


def readme_text(models: Sequence[Path], release: tuple[int, int]) -> str:
    """Return the README of a folder with these models, for a release of Triton."""
    directories = [ModelDirectory(path) for path in models]
    gpus = " --gpus=all" if any(map(wants_gpu, directories)) else ""
    return template("serve.md").format(
        models="\n".join(map(_line, directories)),
        release=f"{release[0]}.{release[1]:02}",
        gpus=gpus,
    )


def _line(directory: ModelDirectory) -> str:
    numbers = directory.versions
    word = "version" if len(numbers) == 1 else "versions"
    return f"- `{printable(directory.name)}`, {word} {', '.join(map(str, numbers))}"


def wants_gpu(directory: ModelDirectory) -> bool:
    """Return whether a model's configuration places an instance on a GPU."""
    try:
        groups = directory.config().instance_groups
    except ModelConfigError:
        return False
    kind_gpu = 1
    return any(group.kind == kind_gpu for group in groups)


def release_notes(requirements: Path, release: tuple[int, int]) -> list[str]:
    """Return notes on pins that a release of Triton cannot use."""
    text = requirements.read_text(encoding="utf-8")
    if release > _LAST_NUMPY_1_RELEASE or not _NUMPY_2.search(text):
        return []
    return [
        f"requirements.txt pins numpy 2 or later, with which the model processes of "
        f"Triton {release[0]}.{release[1]:02} end: take numpy<2 there"
    ]


def export_notes(directory: ModelDirectory) -> Iterator[str]:
    """Yield notes on a model's differences on a Triton server."""
    name = printable(directory.name)
    try:
        config = directory.config()
    except ModelConfigError as error:
        yield f"{name}: {error.message}; Triton will not load it"
        return
    for key, meaning in _BLSNB_PARAMETERS.items():
        if key in config.parameters:
            yield f"{name}: the parameter {key} means nothing to Triton: {meaning}"
    if config == ModelConfig() and not os.path.isfile(directory.config_file):
        yield (
            f"{name}: there is no config.pbtxt; auto_complete_config must give inputs "
            "and outputs, and a server with --disable-auto-complete-config refuses the "
            "model"
        )
    if not directory.name.isascii():
        yield (
            f"{name}: the name is not ASCII; a Python model with such a path does not "
            "load on Triton 24.10, which fails with UnicodeEncodeError"
        )


def path_notes(target: Path) -> list[str]:
    """Return notes on the path of an export with which Python models do not load."""
    notes = []
    path = printable(str(target.absolute()))
    if re.search(r"\s", path):
        notes.append(
            f"the path {path!r} contains white space: given to tritonserver, no load "
            "of a Python model ends; give it another path, such as that of a link"
        )
    if not path.isascii():
        notes.append(
            f"the path {path!r} is not ASCII: given to tritonserver of release 24.10, "
            "no Python model loads; give it another path, such as that of a link"
        )
    return notes
