"""Convert a linear BLS pipeline to the configuration of an equivalent ensemble."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from blsnb.model.config import ModelConfig
from blsnb.model_graph.sources.possible import Evaluator
from blsnb.model_graph.sources.scopes import Scope
from blsnb.model_graph.sources.sent_tensors import (
    SentTensor,
    is_request,
    list_items,
    method,
    output_names,
    request_arguments,
    sent_tensor,
    sent_tensors,
)
from blsnb.model_graph.sources.source import Function, Source

_BRANCHES = (ast.If, ast.IfExp, ast.Try, ast.Match, ast.BoolOp)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.While, *_COMPREHENSIONS)


class NotAnEnsembleError(Exception):
    """The pipeline has no equivalent ensemble; the message has the reason and line."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A call of the pipeline: model, inputs and requested outputs."""

    model: str
    inputs: tuple[SentTensor, ...]
    outputs: tuple[str, ...]
    line: int


def ensemble_config(name: str, config: ModelConfig, source: Source) -> ModelConfig:
    """Return the configuration of an ensemble that is equivalent to a BLS pipeline.

    Parameters
    ----------
    name
        The name of the ensemble.
    config
        The configuration of the pipeline.
    source
        Its ``model.py``.

    Raises
    ------
    NotAnEnsembleError
        A call is conditional, its input is computed between calls, or its model,
        inputs or outputs are not literals.
    """
    reader = _Pipeline(source, Evaluator(config.parameters))
    steps = reader.steps()
    results = reader.results(steps)
    made = {(step.model, output) for step in steps for output in step.outputs}
    names = {pair: f"{pair[0]}_{pair[1]}" for pair in made}
    names.update({results[final]: final for final in results})
    message = ModelConfig().message
    message.name, message.platform = name, "ensemble"
    message.max_batch_size = config.max_batch_size
    message.input.extend(config.message.input)
    message.output.extend(config.message.output)
    for step in steps:
        row = message.ensemble_scheduling.step.add()
        row.model_name, row.model_version = step.model, -1
        for sent in step.inputs:
            row.input_map[sent.name] = _pool_name(sent, step, names)
        for output in step.outputs:
            row.output_map[output] = names[step.model, output]
    return ModelConfig.of(message)


def _pool_name(sent: SentTensor, step: _Step, names: dict[tuple[str, str], str]) -> str:
    """Return the name of the ensemble tensor that a step's input receives."""
    if sent.own_input:
        return sent.own_input
    if sent.output_of in names:
        return names[sent.output_of]
    _refuse(f"input '{sent.name}' of model '{step.model}' is computed", step.line)


class _Pipeline:
    """Reads the calls and the response of ``execute``."""

    def __init__(self, source: Source, evaluator: Evaluator) -> None:
        self._source = source
        self._evaluator = evaluator
        functions = [each for each in source.functions if each.name == "execute"]
        if len(functions) != 1:
            raise NotAnEnsembleError("the source has no single execute()")
        self._execute: Function = functions[0]
        self._scope = Scope(source, self._execute)
        # The last parameter: `self` is missing in a static method.
        requests = self._execute.parameters[-1:]
        self._not_once = dict(_not_once(self._execute.node, requests))

    def steps(self) -> list[_Step]:
        """Return the calls in order of execution."""
        steps = []
        for call, function in self._source.calls:
            if not is_request(call, self._source):
                continue
            if function is not self._execute:
                _refuse("a BLS call is made outside of execute()", call.lineno)
            if call in self._not_once:
                _refuse(f"a BLS call {self._not_once[call]}", call.lineno)
            steps.append(self._step(call))
        models = [step.model for step in steps]
        for number, step in enumerate(steps):
            if step.model in models[:number]:
                _refuse(f"model '{step.model}' is called twice", step.line)
        if not steps:
            raise NotAnEnsembleError("execute() makes no BLS call")
        return steps

    def _step(self, call: ast.Call) -> _Step:
        arguments = request_arguments(call, self._scope, self._evaluator)
        target = arguments.get("model_name")
        model = target and self._evaluator.possible(target, self._scope).only
        if not isinstance(model, str):
            _refuse("the name of the called model is not a literal", call.lineno)
        inputs = sent_tensors(arguments.get("inputs"), self._scope, self._evaluator)
        if inputs is None:
            _refuse(f"the inputs of model '{model}' are computed", call.lineno)
        named = arguments.get("requested_output_names")
        outputs = output_names(named, self._scope, self._evaluator)
        if outputs is None:
            _refuse(f"the outputs of model '{model}' are not literals", call.lineno)
        return _Step(model, inputs, outputs, call.lineno)

    def results(self, steps: list[_Step]) -> dict[str, tuple[str, str]]:
        """Return model and output that produce each output of the pipeline."""
        made = [
            call
            for call, function in self._source.calls
            if function is self._execute and method(call) == "InferenceResponse"
            if call.args or any(w.arg == "output_tensors" for w in call.keywords)
        ]
        if len(made) != 1:
            raise NotAnEnsembleError("execute() makes no single response with outputs")
        [call] = made
        if call in self._not_once:
            _refuse(f"the response {self._not_once[call]}", call.lineno)
        tensors = (*call.args, *(word.value for word in call.keywords))[0]
        results = dict(self._outputs(tensors, steps, call.lineno))
        _check_names(results, call.lineno)
        return results

    def _outputs(
        self, node: ast.expr, steps: list[_Step], line: int
    ) -> Iterator[tuple[str, tuple[str, str]]]:
        held, scope = self._evaluator.followed(node, self._scope)
        if isinstance(held, ast.Call) and method(held) == "output_tensors":
            assert isinstance(held.func, ast.Attribute)
            # Named like an output, it is read as a tensor of that response.
            for step in steps:
                for output in step.outputs:
                    sent = self._from_response(held.func.value, output, scope)
                    if sent.output_of == (step.model, output):
                        yield output, (step.model, output)
            return
        for item, where in list_items(node, self._scope, self._evaluator):
            tensor = sent_tensor(item, where, self._evaluator)
            if tensor is None or tensor.output_of is None:
                _refuse("an output is computed", line)
            yield tensor.name, tensor.output_of

    def _from_response(
        self, response: ast.expr, output: str, scope: Scope
    ) -> SentTensor:
        read = ast.Call(
            ast.Name("get_output_tensor_by_name", ast.Load()),
            [response, ast.Constant(output)],
            [],
        )
        return sent_tensor(read, scope, self._evaluator) or SentTensor(output)


def _not_once(
    node: ast.AST, requests: list[str], why: str = ""
) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls that may not run once for each request, and the reasons.

    Parameters
    ----------
    requests
        The name over which the outermost loop iterates; empty inside of it.
    """
    for child in ast.iter_child_nodes(node):
        reason, inner = why, requests
        if isinstance(child, _BRANCHES):
            reason = why or "depends on a condition"
        elif isinstance(child, _LOOPS):
            inner = []
            if not _is_over(child, requests):
                reason = why or "is in a loop"
        elif reason and isinstance(child, ast.Call):
            yield child, reason
        yield from _not_once(child, inner, reason)


def _is_over(loop: ast.AST, names: list[str]) -> bool:
    """Whether a loop iterates over values of one of the names, and nothing else."""
    match loop:
        case ast.For(iter=iterated):
            pass
        case ast.ListComp(generators=[ast.comprehension(iter=iterated, ifs=[])]):
            pass
        case _:
            return False
    found = {each.id for each in ast.walk(iterated) if isinstance(each, ast.Name)}
    return not found.isdisjoint(names)


def _check_names(results: dict[str, tuple[str, str]], line: int) -> None:
    """Refuse an output under two names: an ensemble has one tensor for it."""
    names: dict[tuple[str, str], str] = {}
    for name, made in results.items():
        if names.setdefault(made, name) != name:
            _refuse(
                f"output '{made[1]}' of model '{made[0]}' is returned under two "
                f"names, '{names[made]}' and '{name}'",
                line,
            )


def _refuse(reason: str, line: int) -> NoReturn:
    raise NotAnEnsembleError(f"{reason} (model.py:{line})")
