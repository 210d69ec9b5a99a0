"""Configurations of simulated models."""

from __future__ import annotations

from google.protobuf import text_format

from blsnb.model.config import ModelConfig, schema
from blsnb.planning.simulation.behaviour import Behaviour, Step
from blsnb.planning.simulation.simulation import SimulatedModel

MS = 1_000_000


def config(name: str, count: int = 1, more: str = "") -> ModelConfig:
    """Return a configuration with a number of instances."""
    text = (
        f'name: "{name}" backend: "python" {more} '
        f'instance_group {{ name: "{name}" kind: KIND_CPU count: {count} }}'
    )
    return ModelConfig.of(text_format.Parse(text, schema().ModelConfig()))


def waits(ms: float, size: int = 1) -> Behaviour:
    """Return an execution that waits and does nothing else."""
    return Behaviour(size, (Step((), 0, round(ms * MS)),))


def computes(ms: float, size: int = 1) -> Behaviour:
    """Return an execution that computes and does nothing else."""
    return Behaviour(size, (Step((), round(ms * MS)),))


def model(name: str, *drawn: Behaviour, count: int = 1, more: str = ""):
    """Return a model whose executions are drawn from the given ones."""
    return SimulatedModel(
        config(name, count, more), lambda size, random: random.choice(drawn)
    )
