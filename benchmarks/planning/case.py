"""A case: models, the load on them, and when a prediction counts as right."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).with_name("models")
SHARES = (0.3, 0.6, 0.8)
"""Rates, as shares of the predicted saturation."""
MEASUREMENTS = 3
CLIENTS = 32
"""Number of clients in a closed loop that saturate a case."""
P50_ERROR, P99_ERROR, SATURATION_ERROR = 0.10, 0.25, 0.10
"""Maximum relative errors. A p99 may also lie within the measured ones."""
NEEDED = 10
"""Number of cases of twelve in which all predictions must be right."""


@dataclass(frozen=True)
class Model:
    """A model of a case.

    Parameters
    ----------
    source
        Its file in ``models/``; empty for an ensemble.
    instances
        Number of its instances.
    parameters
        Parameters of its configuration.
    more
        Further text of its configuration.
    batch
        Maximum batch size; 0 for a model that does not batch.
    """

    source: str
    instances: int = 1
    parameters: Mapping[str, float | str] | None = None
    more: str = ""
    batch: int = 0

    def config(self) -> str:
        """Return the text of its configuration."""
        dims = "[4]" if self.batch else "[1, 4]"
        tensor = f"data_type: TYPE_FP32 dims: {dims}"
        return "\n".join(
            [
                'backend: "python"' if self.source else 'platform: "ensemble"',
                f'input [{{ name: "X" {tensor} }}]',
                f'output [{{ name: "Y" {tensor} }}]',
                f"max_batch_size: {self.batch}",
                *self._lines(),
                self.more,
                "",
            ]
        )

    def _lines(self) -> Iterator[str]:
        if self.source:
            group = f"count: {self.instances} kind: KIND_CPU"
            yield f"instance_group [{{ {group} }}]"
        for key, value in (self.parameters or {}).items():
            text = f'value {{ string_value: "{value}" }}'
            yield f'parameters {{ key: "{key}" {text} }}'


def ensemble(*steps: str) -> Model:
    """Return an ensemble of models, one after the other."""
    names = ["X", *(f"T{number}" for number in range(1, len(steps))), "Y"]
    lines = [
        f'{{ model_name: "{model}" model_version: -1 '
        f'input_map {{ key: "X" value: "{names[number]}" }} '
        f'output_map {{ key: "Y" value: "{names[number + 1]}" }} }}'
        for number, model in enumerate(steps)
    ]
    return Model("", more=f"ensemble_scheduling {{ step [{', '.join(lines)}] }}")


class Sequences(NamedTuple):
    """Requests as parts of sequences, of which some are open at a time."""

    open: int
    length: int


@dataclass(frozen=True)
class Case:
    """Models under load.

    Parameters
    ----------
    seed
        Seed of the first measurement's arrivals; the others have the next ones.
    root
        Name of the model that clients call.
    models
        By name.
    sequences
        How requests form sequences; None for requests on their own.
    """

    name: str
    seed: int
    root: str
    models: Mapping[str, Model]
    sequences: Sequences | None = None

    @property
    def seeds(self) -> Sequence[int]:
        """The seed of each measurement."""
        return range(self.seed, self.seed + MEASUREMENTS)

    def write(self, folder: Path) -> None:
        """Write the repository of the models."""
        for name, model in self.models.items():
            version = folder / name / "1"
            version.mkdir(parents=True)
            (folder / name / "config.pbtxt").write_text(model.config())
            if model.source:
                shutil.copy(SOURCES / f"{model.source}.py", version / "model.py")
