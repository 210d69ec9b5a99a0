"""Configurations of simulated models."""

from __future__ import annotations

from google.protobuf import text_format

from blsnb.model.config import ModelConfig, schema
from blsnb.planning.judgement import judge
from blsnb.planning.plans.live_models import NO_MODELS
from blsnb.planning.plans.plan import Plan
from blsnb.planning.search import REQUESTS, Judged
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


def tensors(**shapes: str) -> str:
    """Return the inputs and outputs of a configuration, such as ``input="X"``."""
    return " ".join(
        f'{kind} {{ name: "{name}" data_type: TYPE_FP32 dims: 2 }}'
        for kind, names in shapes.items()
        for name in names.split()
    )


def ensemble(name: str, steps: dict[str, tuple[str, str]], more: str = ""):
    """Return an ensemble of X and Y without own work.

    Parameters
    ----------
    steps
        Input and output by model, whose own names are X and Y.
    """
    written = " ".join(
        f'step {{ model_name: "{model}" model_version: -1 '
        f'input_map {{ key: "X" value: "{given}" }} '
        f'output_map {{ key: "Y" value: "{made}" }} }}'
        for model, (given, made) in steps.items()
    )
    whole = f"{more} ensemble_scheduling {{ {written} }}"
    return SimulatedModel(
        config(name, 0, whole), lambda size, _: Behaviour(size, (Step((), 0),))
    )


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


def quick_plan(found, option, rate=20.0, live=NO_MODELS):
    """Return a plan with one configuration that holds, after few requests."""
    judgement = judge(found, option, rate, 30)._replace(answered_rate=rate)
    best = Judged(option, judgement, (judgement,), REQUESTS[-1])
    return Plan(found, (rate,), 1e6, (best,), (judgement,), {}, _live=live)
