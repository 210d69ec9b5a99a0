"""The steps of an ensemble and the tensors between them."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from blsnb.model.config import ModelConfig
from blsnb.model.rules.hash_order import hash_order
from blsnb.model.rules.tensor_flow import dims_agree
from blsnb.tensors.dtypes import Shape

Consumers = dict[str, frozenset[int]]
"""Indices of the steps that consume a tensor, by its name."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedStep:
    """One step of the configuration.

    Parameters
    ----------
    version
        -1 for the latest.
    inputs, outputs
        The ensemble's tensors by the model's names.
    """

    index: int
    model: str
    version: int
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


def converted(shape: Shape, dims: Shape, *, batching: bool, batch_size: int) -> Shape:
    """Return the shape of a tensor at its destination, a model or the client.

    Parameters
    ----------
    shape
        Shape of the tensor, including the batch axis.
    dims
        Configured dimensions of the destination, without the batch axis.
    batching
        Whether the destination takes batches.
    batch_size
        Batch size of the source; 0 if it does not batch.

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
        Configurations of the models by name and version of the steps, such as
        ``("preprocess", -1)``.

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
        # The order of the outputs of a response.
        self.outputs = {name: outputs[name] for name in hash_order(outputs)}
        self._inputs = [each.name for each in config.inputs]
        self._configs = [composing[step.model, step.version] for step in self.steps]
        self._dims = [
            {each.name: each.dims for each in config.inputs} for config in self._configs
        ]
        self._consumers = self._all_consumers()

    def _all_consumers(self) -> Consumers:
        found: dict[str, set[int]] = {
            name: set() for name in (*self._inputs, *self.outputs)
        }
        for step in self.steps:
            for name in step.inputs.values():
                found.setdefault(name, set()).add(step.index)
        return {name: frozenset(steps) for name, steps in found.items()}

    def prefixed(self, message: str) -> str:
        """Return an error text with the ensemble's name in front."""
        return f"in ensemble '{self.name}', {message}"

    def batches(self, step: PlannedStep) -> bool:
        """Whether the model of a step takes batches."""
        return self._configs[step.index].max_batch_size > 0

    def dims(self, step: PlannedStep, name: str) -> Shape:
        """Return the configured dimensions of an input of a step's model."""
        return self._dims[step.index][name]

    @property
    def endless(self) -> tuple[PlannedStep, ...]:
        """Steps in a cycle: one of them writes an input of the ensemble.

        Triton loads such an ensemble, and a request to it never ends.
        """
        going = set(self.steps)
        while True:
            written = {name for step in going for name in step.outputs.values()}
            kept = {step for step in going if written.issuperset(step.inputs.values())}
            if kept == going:
                return tuple(step for step in self.steps if step in kept)
            going = kept

    def consumers(self, outputs: AbstractSet[str]) -> Consumers:
        """Return the consumers of each tensor when these outputs are requested.

        A step is left out if none of its outputs is needed. Triton discards an output
        that the client does not request even if a step needs it, and treats inputs as
        tensors of the first step: both may leave out too many steps, so that the
        request fails.
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
