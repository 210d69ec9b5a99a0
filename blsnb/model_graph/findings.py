"""Check the calls of a model graph without running a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from blsnb.arguments import did_you_mean
from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig, TensorSpec
from blsnb.model_graph.finding import Finding
from blsnb.model_graph.sources.bls_calls import BlsCall
from blsnb.model_graph.sources.sent_tensors import SentTensor
from blsnb.printable import shape_text
from blsnb.tensors.dtypes import Shape

if TYPE_CHECKING:
    from blsnb.model_graph.graph import ModelGraph

Configs = Mapping[str, ModelConfig]


def call_findings(
    caller: str, call: BlsCall, place: str, configs: Configs
) -> Iterator[Finding]:
    """Yield the faults of a call."""
    for target in call.targets:
        if target not in configs:
            advice = did_you_mean(target, list(configs))
            text = f"calls model '{target}', which the repository does not have. "
            yield Finding(caller, (text + advice).rstrip(" ."), place)
    known = [target for target in call.targets if target in configs]
    # With several targets it is unknown which one receives the tensors.
    if len(known) == len(call.targets) == 1 and not call.undecided:
        for text in _faults(caller, call, known[0], configs):
            yield Finding(caller, text, place)


def _faults(caller: str, call: BlsCall, target: str, configs: Configs) -> Iterator[str]:
    config = configs[target]
    if config.decoupled and call.is_single:
        method = "async_exec" if call.is_async else "exec"
        yield (
            f"calls model '{target}', which is decoupled, with {method}(): the request "
            f"fails. Write {method}(decoupled=True) and iterate over the responses"
        )
    declared = [tensor.name for tensor in config.outputs]
    for name in call.outputs or ():
        if declared and name not in declared:
            yield _undeclared(f"requests output '{name}' of", target, name, declared)
    for sent in call.inputs or ():
        yield from _input_faults(caller, sent, target, configs)
    names = {tensor.name for tensor in call.inputs or ()}
    for tensor in config.inputs if call.inputs is not None else ():
        if not tensor.optional and tensor.name not in names:
            yield f"does not send input '{tensor.name}' to model '{target}'"


def _undeclared(text: str, target: str, name: str, declared: list[str]) -> str:
    advice = did_you_mean(name, declared)
    found = f"{text} model '{target}', which declares {', '.join(declared)}. {advice}"
    return found.rstrip(" .")


def _input_faults(
    caller: str, sent: SentTensor, target: str, configs: Configs
) -> Iterator[str]:
    config = configs[target]
    declared = {tensor.name: tensor for tensor in config.inputs}
    expected = declared.get(sent.name)
    if expected is None:
        if declared:
            text = f"sends input '{sent.name}' to"
            yield _undeclared(text, target, sent.name, list(declared))
        return
    datatype, shape = _known_of(sent, caller, configs)
    if datatype and expected.datatype and datatype != expected.datatype:
        yield (
            f"sends input '{sent.name}' as {datatype} to model '{target}', which "
            f"expects {expected.datatype}"
        )
    full = _full_shape(expected, config)
    # Deferred: few models send arrays of a known shape.
    from blsnb.model.rules.tensor_flow import dims_agree

    if shape is not None and not dims_agree(shape, full):
        yield (
            f"sends input '{sent.name}' with shape {shape_text(shape)} to model "
            f"'{target}', which expects {shape_text(full)}"
        )


def _known_of(
    sent: SentTensor, caller: str, configs: Configs
) -> tuple[str, Shape | None]:
    """Return the known data type and full shape of a tensor."""
    if sent.datatype or sent.shape is not None:
        return sent.datatype, sent.shape
    model, name, kind = caller, sent.own_input, "inputs"
    if sent.output_of is not None:
        (model, name), kind = sent.output_of, "outputs"
    config = configs.get(model)
    for tensor in getattr(config, kind, ()):
        if tensor.name == name and config is not None:
            return tensor.datatype, _full_shape(tensor, config)
    return "", None


def _full_shape(tensor: TensorSpec, config: ModelConfig) -> Shape:
    batch = (-1,) if config.max_batch_size > 0 else ()
    return batch + tensor.dims


def cycle_findings(graph: ModelGraph) -> Iterator[Finding]:
    """Yield models with one instance that call themselves, even through others."""
    below: dict[int, list[int]] = {}
    for call in graph.calls:
        below.setdefault(call.source, []).append(call.target)
    seen: set[frozenset[int]] = set()
    for number in range(len(graph.models)):
        cycle = _shortest_cycle(number, below)
        if cycle is not None and frozenset(cycle) not in seen:
            seen.add(frozenset(cycle))
            yield from _cycle_finding(cycle, graph)


def _cycle_finding(cycle: list[int], graph: ModelGraph) -> Iterator[Finding]:
    models = [graph.models[number] for number in cycle]
    single = [
        model.name
        for model in models[:-1]
        if model.kind != "ensemble" and model.instance_count < 2
    ]
    if single:
        text = (
            f"calls itself ({' -> '.join(model.name for model in models)}) and has 1 "
            "instance: the inner request waits for the instance that the outer one "
            "holds, and hangs. Set the count of its instance_group above the depth "
            "of the calls"
        )
        yield Finding(single[0], text)


def _shortest_cycle(start: int, below: Mapping[int, list[int]]) -> list[int] | None:
    """Return the shortest cycle through a model; None without one."""
    came_from: dict[int, int] = {}
    pending = [start]
    for number in pending:
        for target in below.get(number, ()):
            if target == start:
                return [*_path(number, start, came_from), start]
            if target not in came_from:
                came_from[target] = number
                pending.append(target)
    return None


def _path(end: int, start: int, came_from: Mapping[int, int]) -> list[int]:
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def ensemble_findings(config: ModelConfig, configs: Configs) -> Iterator[Finding]:
    """Yield the first fault in an ensemble's data flow, with Triton's error text."""
    steps = config.message.ensemble_scheduling.step
    called = [configs.get(step.model_name) for step in steps]
    if not all(each and each.inputs and each.outputs for each in called):
        return
    try:
        # Deferred: few models are ensembles.
        from blsnb.model.rules.tensor_flow import TensorFlow

        flow = TensorFlow(config)
        for step, each in zip(steps, called, strict=True):
            if each is not None:
                flow.connect(step, each)
        flow.is_decoupled()
    except ModelConfigError as error:
        yield Finding(config.name, error.message)


def unused_findings(graph: ModelGraph) -> Iterator[Finding]:
    """Yield unconnected models, if other models are connected."""
    if not graph.calls or any(model.kind == "undecided" for model in graph.models):
        return
    linked = {n for call in graph.calls for n in (call.source, call.target)}
    for number, model in enumerate(graph.models):
        if number not in linked:
            yield Finding(model.name, "no other model calls it", is_fault=False)
