"""The models that all servers of a benchmark load."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

MODELS = Path(__file__).with_name("models")
DEPTH = 10
"""Number of models in the chain."""
LINK = "link_"
ZERO_COPY = 'parameters { key: "BLSNB_ZERO_COPY" value { string_value: "true" } }'
INSTANCES = "instance_group [{{ kind: KIND_CPU count: {} }}]"
VARIANTS = {
    "identity_zero_copy": ("identity", ZERO_COPY),
    "waits_1": ("waits", INSTANCES.format(1)),
    "waits_8": ("waits", INSTANCES.format(8)),
    "waits_10_ms": (
        "waits",
        INSTANCES.format(8)
        + ' parameters { key: "SECONDS" value { string_value: "0.01" } }',
    ),
    "hashes_8": ("hashes", INSTANCES.format(8)),
} | {f"{LINK}{place}": ("link", "") for place in range(DEPTH)}
"""Models with another model's source and an extended configuration."""


class Repository:
    """A temporary folder with the models of the benchmarks."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="blsnb-benchmarks-")
        self.folder = Path(self._temporary.name).resolve()
        templates = {template for template, _ in VARIANTS.values()} - {"identity"}
        for model in MODELS.iterdir():
            if model.name not in templates:
                copy(model, self.folder / model.name)
        for name, (template, further) in VARIANTS.items():
            copy(MODELS / template, self.folder / name, further)

    def needed(self, model: str, inputs: Mapping[str, int | str]) -> Iterator[str]:
        """Yield the models that a request needs."""
        target = str(inputs.get("MODEL", "counter"))
        yield from (model, target)
        if target.startswith(LINK):
            yield from (f"{LINK}{place}" for place in range(DEPTH))

    def close(self) -> None:
        """Remove the folder."""
        self._temporary.cleanup()


def copy(model: Path, folder: Path, further: str = "") -> None:
    """Copy a model's folder and extend its configuration."""
    shutil.copytree(model, folder, ignore=shutil.ignore_patterns("__pycache__"))
    config = folder / "config.pbtxt"
    config.write_text(f"{config.read_text()}{further}\n")
