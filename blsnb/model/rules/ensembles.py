"""Checks of an ensemble's own configuration, with Triton's texts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from blsnb.errors import ModelConfigError
from blsnb.model.backend_fields import ENSEMBLE
from blsnb.model.rules.hash_order import hash_order

_STEP_FIELDS = ("model_name", "input_map", "output_map")


@dataclass(slots=True, eq=False, repr=False)
class _Tensor:
    """A tensor of the ensemble, with the tensors it depends on and those it feeds."""

    name: str
    written: bool = False
    ready: bool = False
    sources: list[_Tensor] = field(default_factory=list)
    targets: list[_Tensor] = field(default_factory=list)


_Graph = dict[str, _Tensor]


def check_ensemble(message: Any) -> None:
    """Refuse invalid fields, steps and data flow.

    If one map of a step has several faults, Triton reports any of them; blsnb reports
    the first by name.

    References
    ----------
    core: src/model_config_utils.cc, ValidateEnsembleSchedulingConfig
    """
    ensemble = f"ensemble '{message.name}'"
    if message.platform != ENSEMBLE:
        _refuse(
            f"ensemble scheduling cannot be set for model '{message.name}' whose "
            f"platform is not {ENSEMBLE}"
        )
    if message.instance_group:
        _refuse(f"instance group should not be specified for {ensemble}")
    if message.HasField("optimization"):
        _refuse(f"optimization should not be specified for {ensemble}")
    if message.model_warmup:
        _refuse(f"model_warmup can not be specified for {ensemble}")
    if not message.ensemble_scheduling.step:
        _refuse(f"must specify 'step' for {ensemble}")
    _check_flow(_graph(message, ensemble), message)


def _graph(message: Any, ensemble: str) -> _Graph:
    """Return the tensors by name, in the order of Triton's search."""
    graph: _Graph = {}
    for index, step in enumerate(message.ensemble_scheduling.step):
        for name in _STEP_FIELDS:
            if not getattr(step, name):
                _refuse(f"must specify '{name}' in step {index} of {ensemble}")
        written = [
            _write(graph, tensor, f"{ensemble} step {index}")
            for tensor in mapped(step.output_map)
        ]
        for name in mapped(step.input_map):
            source = graph.setdefault(name, _Tensor(name))
            for target in written:
                target.sources.append(source)
                source.targets.append(target)
    return graph


def mapped(names: Any) -> list[str]:
    """Return the ensemble's tensors in a map, sorted by the model's names."""
    return [names[name] for name in sorted(names)]


def _write(graph: _Graph, name: str, step: str) -> _Tensor:
    tensor = graph.setdefault(name, _Tensor(name))
    if tensor.written:
        _refuse(
            f"ensemble tensor '{name}' can appear in an output map only once for {step}"
        )
    tensor.written = True
    return tensor


def _check_flow(graph: _Graph, message: Any) -> None:
    # The unbalanced quote is Triton's.
    ensemble = f"for ensemble {message.name}' is not used"
    for tensor in message.input:
        if tensor.name not in graph:
            _refuse(f"ensemble input '{tensor.name}' {ensemble}")
    _follow([graph[tensor.name] for tensor in message.input])
    for tensor in message.output:
        if tensor.name not in graph:
            _refuse(f"ensemble output '{tensor.name}' {ensemble}")
        if not graph[tensor.name].ready:
            _refuse(_not_written(graph[tensor.name], message.name))
    _check_unused(graph, message)


def _follow(given: Iterable[_Tensor]) -> None:
    """Mark the tensors that can be computed from given ones as ready."""
    pending = deque(given)
    for tensor in pending:
        tensor.ready = True
    while pending:
        for target in pending.popleft().targets:
            if not target.ready and all(source.ready for source in target.sources):
                target.ready = True
                pending.append(target)


def _not_written(output: _Tensor, model: str) -> str:
    """Return Triton's text, which names the last tensor without a source."""
    last, seen, going = output, set[str](), True
    while going:
        going = False
        for source in last.sources:
            if not source.ready and source.name not in seen:
                seen.add(source.name)
                last, going = source, True
                break
    text = f"output '{output.name}' for ensemble '{model}' is not written"
    if last is output:
        return text
    return (
        f"{text}: at least one of its depending tensors, '{last.name}', is not "
        "connected"
    )


def _check_unused(graph: _Graph, message: Any) -> None:
    outputs = {tensor.name for tensor in message.output}
    for name in hash_order(graph):
        tensor = graph[name]
        if name not in outputs and not (tensor.ready and tensor.targets):
            _refuse(f"ensemble tensor '{name}' is unused in ensemble '{message.name}'")


def _refuse(reason: str) -> NoReturn:
    raise ModelConfigError(reason, stage="poll")
