"""Ensembles to plan, and a player that runs their steps in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from model.ensembles import ensemble, model

from blsnb.engine.scheduling.ensembles.calls import (
    EnsembleError,
    EnsembleProgress,
    Held,
    StepCall,
)
from blsnb.engine.scheduling.ensembles.plan import EnsemblePlan
from blsnb.engine.scheduling.ensembles.run import EnsembleRun
from blsnb.model.config import ModelConfig, parse_pbtxt

PLAIN = model()


def plan(*steps: str, models: Mapping[str, str] | None = None, **texts: str):
    """Return the plan of an ensemble ``m``; unspecified models are plain."""
    return plan_of("name: 'm' " + ensemble(*steps, **texts), models or {})


def plan_of(text: str, models: Mapping[str, str]) -> EnsemblePlan:
    config = parse_pbtxt(text)
    composing: dict[tuple[str, int], ModelConfig] = {
        (each.model_name, each.model_version): parse_pbtxt(
            models.get(each.model_name, PLAIN)
        )
        for each in config.message.ensemble_scheduling.step
    }
    return EnsemblePlan(config, composing)


def held(value: Any, *shape: int) -> Held[Any]:
    """Return a tensor, of one element by default."""
    return Held(value, shape or (1,))


class Player:
    """Runs one request; a step makes ``name(inputs)`` for each of its outputs."""

    def __init__(
        self,
        ensemble_plan: EnsemblePlan,
        inputs: Mapping[str, Any] | None = None,
        outputs: set[str] | None = None,
        **options: Any,
    ) -> None:
        values = {"X": "x"} if inputs is None else inputs
        given = {
            name: value if isinstance(value, Held) else held(value)
            for name, value in values.items()
        }
        wanted = set(ensemble_plan.outputs) if outputs is None else outputs
        self.run = EnsembleRun(ensemble_plan, given, wanted, **options)
        self.waiting: list[StepCall[Any]] = []
        self.called: list[StepCall[Any]] = []
        self.answers: list[Any] = []
        self.note(self.run.start())

    def note(self, progress: EnsembleProgress[Any]) -> None:
        """Record calls and responses."""
        self.waiting.extend(progress.calls)
        self.called.extend(progress.calls)
        if progress.error is not None:
            self.answers.append(tuple(progress.error))
        elif progress.response is not None:
            outputs = progress.response.outputs
            self.answers.append({each.name: each.value for each in outputs})
        if progress.final:
            self.answers.append("final")

    def take(self, name: str, outputs: Any = None, **more: Any) -> None:
        """Respond to a waiting call of a model with these values."""
        call = next(call for call in self.waiting if call.step.model == name)
        if more.get("final", True):
            self.waiting.remove(call)
        if isinstance(more.get("error"), str):
            more["error"] = EnsembleError(more["error"], "INTERNAL")
        made = None
        if outputs is not None:
            made = {
                key: value if isinstance(value, Held) else held(value)
                for key, value in outputs.items()
            }
        self.note(self.run.take(call, made, **more))

    def play(self, choose: Callable[[int], int] = lambda count: 0) -> None:
        """Respond to all calls; `choose` selects the next waiting one."""
        while self.waiting:
            call = self.waiting.pop(choose(len(self.waiting)))
            self.note(self.run.take(call, made_by(call)))

    @property
    def steps(self) -> list[int]:
        """Return the called steps, in order."""
        return [call.step.index for call in self.called]


def made_by(call: StepCall[Any]) -> dict[str, Held[Any]]:
    """Return the value that a step makes from its inputs, as a text."""
    inputs = ",".join(f"{each.name}={each.value}" for each in call.inputs)
    return {
        name: held(f"{call.step.index}.{name}({inputs})") for name in call.step.outputs
    }
