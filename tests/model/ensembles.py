"""Ensembles and their models, as short texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

BOOM = """class TritonPythonModel:
    def initialize(self, args):
        raise ValueError("boom")
"""
PLAIN = """class TritonPythonModel:
    def execute(self, requests):
        return []
"""
DECOUPLED = "model_transaction_policy { decoupled: true }"


class Refused(NamedTuple):
    """One row: configurations by model, and the reason."""

    row: str
    models: Mapping[str, str]
    reason: str
    failing: tuple[str, ...] = ()
    """The models whose ``initialize`` raises."""


def tensor(direction: str, name: str, data_type: str = "FP32", dims: str = "-1") -> str:
    """Return the text of an input or output."""
    return (
        f"{direction} {{ name: '{name}' data_type: TYPE_{data_type} dims: [{dims}] }} "
    )


def ins(name: str = "X", data_type: str = "FP32", dims: str = "-1") -> str:
    """Return the text of an input."""
    return tensor("input", name, data_type, dims)


def outs(name: str = "Y", data_type: str = "FP32", dims: str = "-1") -> str:
    """Return the text of an output."""
    return tensor("output", name, data_type, dims)


def optional(name: str) -> str:
    """Return the text of an optional input."""
    return f"input {{ name: '{name}' data_type: TYPE_FP32 dims: -1 optional: true }} "


IO = ins() + outs()


def model(*fields: str) -> str:
    """Return a Python model's configuration."""
    return f"backend: 'python' {' '.join(fields or (IO,))}"


def step(
    name: str = "c",
    given: str = "X=X",
    made: str = "Y=Y",
    version: str = "model_version: -1",
) -> str:
    """Return a step; maps are written ``model's=ensemble's`` names."""
    named = f"model_name: '{name}'" if name else ""
    maps = (_map("input_map", given), _map("output_map", made))
    return f"step {{ {named} {version} {' '.join(maps)} }}"


def _map(field: str, pairs: str) -> str:
    entries = (pair.split("=") for pair in pairs.split())
    return " ".join(
        f"{field} {{ key: '{key}' value: '{value}' }}" for key, value in entries
    )


def ensemble(*steps: str, io: str = IO, more: str = "") -> str:
    """Return an ensemble's configuration."""
    return (
        f"platform: 'ensemble' {io} {more} ensemble_scheduling {{ {' '.join(steps)} }}"
    )


JOIN = model(ins("P"), ins("Q"), outs())

DECOUPLED_OR_NOT = {
    "a plain model": (False, ensemble(step()), {"c": model()}),
    "a plain model, whatever the ensemble says": (
        False,
        ensemble(step(), more=DECOUPLED),
        {"c": model()},
    ),
    "a decoupled model": (True, ensemble(step()), {"c": model(IO, DECOUPLED)}),
    "two in a row": (
        True,
        ensemble(step(made="Y=A"), step(given="X=A")),
        {"c": model(IO, DECOUPLED)},
    ),
    "both outputs of one decoupled step, joined": (
        True,
        ensemble(step(made="Y=A Z=B"), step("j", "P=A Q=B")),
        {"c": model(IO, outs("Z"), DECOUPLED), "j": JOIN},
    ),
    "branches behind one decoupled step, joined": (
        True,
        ensemble(
            step(made="Y=S"),
            step("d", "X=S", "Y=A"),
            step("d", "X=S", "Y=B"),
            step("j", "P=A Q=B"),
        ),
        {"c": model(IO, DECOUPLED), "d": model(), "j": JOIN},
    ),
    "an optional input is not mapped": (
        False,
        ensemble(step()),
        {"c": model(IO, optional("Z"))},
    ),
    "batches into none, shape as a whole": (
        False,
        ensemble(step(), io=ins(dims="2") + outs(dims="2"), more="max_batch_size: 4"),
        {"c": model(ins(dims="-1, 2"), outs(dims="-1, 2"))},
    ),
    "batches into none, one by one": (
        False,
        ensemble(step(), io=ins(dims="2") + outs(), more="max_batch_size: 4"),
        {"c": model()},
    ),
    "none into batches": (
        False,
        ensemble(step(), io=ins(dims="3, 2") + outs()),
        {"c": model(ins(dims="2"), outs(dims="3"), "max_batch_size: 4")},
    ),
}
"""Ensembles that load: whether they are decoupled."""
