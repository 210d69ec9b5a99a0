"""The data flow of an ensemble: types, shapes and decoupled steps of its tensors."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NoReturn

from blsnb.arguments import names_advice
from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig, TensorSpec
from blsnb.model.rules.tensors import VARIABLE
from blsnb.printable import shape_text
from blsnb.tensors.dtypes import Shape


@dataclass(slots=True, eq=False, repr=False)
class _Sibling:
    """The label that all outputs of one step share."""

    label: int | None = None


@dataclass(slots=True, eq=False, repr=False)
class _Node:
    """A tensor, and the model that determines its type and shape."""

    model: str
    data_type: str = ""
    dims: Shape = ()
    full_dims: Shape = ()
    decoupled: bool = False
    visited: bool = False
    label: int = 0
    """Number of the decoupled step that determines its responses; 0 without one."""
    sources: list[_Node] = field(default_factory=list)
    targets: list[_Node] = field(default_factory=list)
    sibling: _Sibling = field(default_factory=_Sibling)


def dims_agree(left: Shape, right: Shape) -> bool:
    """Whether shapes are equal in all dimensions that are fixed in both.

    References
    ----------
    common: src/model_config.cc, CompareDimsWithWildcard
    """
    return len(left) == len(right) and all(
        one == other or VARIABLE in (one, other)
        for one, other in zip(left, right, strict=True)
    )


class TensorFlow:
    """Checks the data flow of an ensemble step by step, with Triton's texts.

    References
    ----------
    core: src/ensemble_scheduler/ensemble_utils.cc, ValidateTensorMapping
    """

    def __init__(self, config: ModelConfig) -> None:
        self._ensemble = config.name
        self._max_batch_size = config.max_batch_size
        self._tensors: dict[str, _Node] = {}
        self._sink = _Node(config.name)
        for tensor in config.inputs:
            self._declare(tensor)
        self._inputs = [self._tensors[tensor.name] for tensor in config.inputs]
        for tensor in config.outputs:
            _link(self._declare(tensor), self._sink)

    def _declare(self, tensor: TensorSpec) -> _Node:
        dims = tensor.dims if tensor.reshape is None else tensor.reshape
        node = _node(self._ensemble, tensor, dims, self._max_batch_size)
        return self._tensors.setdefault(tensor.name, node)

    def connect(self, step: Any, config: ModelConfig) -> None:
        """Add a step with its model's configuration."""
        model, largest = step.model_name, config.max_batch_size
        if largest != 0 and largest < self._max_batch_size:
            _refuse(
                f"ensemble {self._ensemble} allows maximum batch size "
                f"{self._max_batch_size}, but it contains model {model} which only "
                f"allows maximum batch size to be {largest}"
            )
        self._connect_inputs(step, config)
        self._connect_outputs(step, config)
        for name in sorted(step.output_map):
            node = self._tensors[step.output_map[name]]
            node.decoupled = config.decoupled
            for source in sorted(step.input_map):
                _link(self._tensors[step.input_map[source]], node)

    def _connect_inputs(self, step: Any, config: ModelConfig) -> None:
        known = {tensor.name for tensor in config.inputs}
        for name in sorted(step.input_map):
            if name not in known:
                self._refuse(
                    f"ensemble tensor {step.input_map[name]} is mapping to "
                    f"non-existing input {name} in model {step.model_name}",
                    names_advice(name, "inputs", sorted(known)),
                )
        for tensor in config.inputs:
            if tensor.name in step.input_map:
                self._agree(step.input_map[tensor.name], tensor, step, config)
            elif not tensor.optional:
                self._refuse(
                    f"input {tensor.name} in model {step.model_name} is not mapped to "
                    "any ensemble tensors"
                )

    def _connect_outputs(self, step: Any, config: ModelConfig) -> None:
        known = {tensor.name for tensor in config.outputs}
        for name in sorted(step.output_map):
            if name not in known:
                self._refuse(
                    f"ensemble tensor {step.output_map[name]} is mapped from "
                    f"non-existing output {name} in model {step.model_name}",
                    names_advice(name, "outputs", sorted(known)),
                )
        sibling = _Sibling()
        for name in sorted(step.output_map):
            mapped = step.output_map[name]
            tensors = [tensor for tensor in config.outputs if tensor.name == name]
            for tensor in tensors:
                self._agree(mapped, tensor, step, config).sibling = sibling
            if len(tensors) > 1:
                self._refuse(
                    f"multiple outputs in model {step.model_name} are mapped to the "
                    f"same ensemble tensor {mapped}"
                )

    def _agree(
        self, name: str, tensor: TensorSpec, step: Any, config: ModelConfig
    ) -> _Node:
        """Return the tensor; its type and shape must be those of the other models."""
        here = _node(step.model_name, tensor, tensor.dims, config.max_batch_size)
        known = self._tensors.setdefault(name, here)
        subject = f"ensemble tensor {name}: inconsistent"
        if known.data_type != here.data_type:
            self._refuse(
                f"{subject} data type: {known.data_type} is inferred from model "
                f"{known.model} while {here.data_type} is inferred from model "
                f"{here.model}"
            )
        if not dims_agree(known.dims, here.dims) and not dims_agree(
            known.full_dims, here.full_dims
        ):
            self._refuse(
                f"{subject} shape: {shape_text(known.full_dims)} is inferred from "
                f"model {known.model} while {shape_text(here.full_dims)} is inferred "
                f"from model {here.model}"
            )
        return known

    def is_decoupled(self) -> bool:
        """Whether a step with a decoupled model can be reached from the inputs.

        Raises
        ------
        ModelConfigError
            A step, or the ensemble's response, depends on tensors of different
            decoupled models, whose numbers of responses are independent.
        """
        label = 0
        pending = deque(self._inputs)
        for node in pending:
            node.visited = True
        while pending:
            for target in pending.popleft().targets:
                if target.visited or not all(node.visited for node in target.sources):
                    continue
                label = self._visit(target, label)
                pending.append(target)
        return label != 0

    def _visit(self, node: _Node, last_label: int) -> int:
        """Label a tensor; return the last label in use."""
        label = node.sources[0].label
        if any(source.label != label for source in node.sources):
            # The named model is the one that determined the type: often the ensemble.
            self._refuse(
                f"step of model '{node.model}' receives inputs originated from "
                "different decoupled models"
            )
        if node.sibling.label is None:
            last_label += node.decoupled
            node.sibling.label = last_label if node.decoupled else label
        node.label = node.sibling.label
        node.visited = True
        return last_label

    def _refuse(self, reason: str, advice: str = "") -> NoReturn:
        _refuse(f"in ensemble {self._ensemble}, {reason}", advice)


def _node(model: str, tensor: TensorSpec, dims: Shape, max_batch_size: int) -> _Node:
    batch = (VARIABLE,) if max_batch_size > 0 else ()
    return _Node(model, tensor.data_type, dims, batch + dims)


def _link(source: _Node, target: _Node) -> None:
    target.sources.append(source)
    source.targets.append(target)


def _refuse(reason: str, advice: str = "") -> NoReturn:
    raise ModelConfigError(reason, stage="dependency", advice=advice)
