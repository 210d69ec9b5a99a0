"""EnsemblePlan: which steps of an ensemble need what, and which are needed at all."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from blsnb.model.config import ModelConfig
from blsnb.model.rules.hash_order import hash_order
from blsnb.model.rules.tensor_flow import dims_agree
from blsnb.tensors.dtypes import Shape

Consumers = dict[str, frozenset[int]]
"""The steps that wait for a tensor, by its name."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedStep:
    """One step, as the configuration has it.

    Parameters
    ----------
    index
        Its place among the steps.
    version
        -1 for the latest.
    inputs, outputs
        Tensors of the ensemble by the names that the model has for them.
    """

    index: int
    model: str
    version: int
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


def converted(shape: Shape, dims: Shape, *, batching: bool, batch_size: int) -> Shape:
    """Return the shape with which a tensor enters a model, or leaves the ensemble.

    Parameters
    ----------
    shape
        As the tensor is, batch axis included.
    dims
        What is configured where it goes, without a batch axis.
    batching
        Whether there are batches where it goes.
    batch_size
        The batch that it comes from; 0 where there are none.

    References
    ----------
    core: src/ensemble_scheduler/ensemble_scheduler.cc, ReshapeTensorDims
    """
    agree = dims_agree(dims, shape)
    if batching and batch_size == 0 and agree:
        return (1, *shape)
    if not batching and batch_size == 1 and not agree:
        return shape[1:]
    return shape


class EnsemblePlan:
    """The steps of an ensemble, ready for its requests.

    Parameters
    ----------
    config
        The ensemble's, with ``decoupled`` computed.
    composing
        The configurations of the models, by name and version as the steps ask for
        them: ``("preprocess", -1)``.

    References
    ----------
    core: src/ensemble_scheduler/ensemble_scheduler.cc, EnsembleScheduler,
    EnsembleContext
    """

    def __init__(
        self, config: ModelConfig, composing: Mapping[tuple[str, int], ModelConfig]
    ) -> None:
        self.name = config.name
        self.decoupled = config.decoupled
        self.steps = tuple(
            PlannedStep(
                index,
                step.model_name,
                step.model_version,
                {name: step.input_map[name] for name in sorted(step.input_map)},
                {name: step.output_map[name] for name in sorted(step.output_map)},
            )
            for index, step in enumerate(config.message.ensemble_scheduling.step)
        )
        self.optional_inputs = [each.name for each in config.inputs if each.optional]
        outputs = {
            each.name: each.dims if each.reshape is None else each.reshape
            for each in config.outputs
        }
        # Outputs of an answer come in this order, whatever was ready first.
        self.outputs = {name: outputs[name] for name in hash_order(outputs)}
        self._inputs = [each.name for each in config.inputs]
        self._configs = [composing[step.model, step.version] for step in self.steps]
        self._dims = [
            {each.name: each.dims for each in config.inputs} for config in self._configs
        ]
        self._consumers = self._all_consumers()

    def __repr__(self) -> str:
        return f"<EnsemblePlan {self.name}: {len(self.steps)} steps>"

    def _all_consumers(self) -> Consumers:
        found: dict[str, set[int]] = {
            name: set() for name in (*self._inputs, *self.outputs)
        }
        for step in self.steps:
            for name in step.inputs.values():
                found.setdefault(name, set()).add(step.index)
            for name in step.outputs.values():
                found.setdefault(name, set())
        return {name: frozenset(steps) for name, steps in found.items()}

    def prefixed(self, message: str) -> str:
        """Return the text of an error as the ensemble tells it."""
        return f"in ensemble '{self.name}', {message}"

    def batches(self, step: PlannedStep) -> bool:
        """Whether the model of a step takes batches."""
        return self._configs[step.index].max_batch_size > 0

    def dims(self, step: PlannedStep, name: str) -> Shape:
        """Return what is configured for an input of a step's model."""
        return self._dims[step.index][name]

    @property
    def endless(self) -> tuple[PlannedStep, ...]:
        """Steps that start themselves again: one writes an input of the ensemble.

        Triton loads such an ensemble, and a request to it never ends.
        """
        going = set(self.steps)
        while True:
            written = {name for step in going for name in step.outputs.values()}
            kept = {step for step in going if written.issuperset(step.inputs.values())}
            if kept == going:
                return tuple(step for step in self.steps if step in kept)
            going = kept

    def needed(self, outputs: AbstractSet[str]) -> frozenset[int]:
        """Return the steps that are not left out when these outputs are wanted."""
        return frozenset[int]().union(*self.consumers(outputs).values())

    def consumers(self, outputs: AbstractSet[str]) -> Consumers:
        """Return who waits for what when these outputs are wanted.

        A step is left out once none of its outputs is wanted. Triton does not want
        an output of the ensemble that the client does not, even where a step needs
        it, and takes an input for a tensor of the first step: both may leave out
        too much, and the request then fails.
        """
        unwanted = set(self.outputs) - outputs
        if not unwanted:
            return self._consumers
        consumers = {name: set(steps) for name, steps in self._consumers.items()}
        writer = {
            name: step.index for step in self.steps for name in step.outputs.values()
        }
        wanted = [len(step.outputs) for step in self.steps]
        while unwanted:
            found: set[str] = set()
            for name in unwanted:
                step = self.steps[writer.get(name, 0)]
                wanted[step.index] -= 1
                if wanted[step.index] == 0:
                    for source in step.inputs.values():
                        consumers[source].discard(step.index)
                        if not consumers[source]:
                            found.add(source)
            unwanted = found
        return {name: frozenset(steps) for name, steps in consumers.items()}
