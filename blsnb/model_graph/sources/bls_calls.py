"""BLS calls in a model's sources: their targets, inputs and outputs."""

from __future__ import annotations

import ast
import itertools
from typing import NamedTuple

from blsnb.model_graph.sources.possible import OPEN, Evaluator
from blsnb.model_graph.sources.scopes import Scope, contexts
from blsnb.model_graph.sources.sent_tensors import (
    SentTensor,
    is_request,
    method,
    output_names,
    request_arguments,
    sent_tensors,
)
from blsnb.model_graph.sources.source import Source

_MAX_CONTEXTS = 50
"""Maximum number of callers of a helper function that are analysed separately."""
_EXECUTES = ("exec", "async_exec")


class BlsCall(NamedTuple):
    """An ``InferenceRequest`` in a source.

    Parameters
    ----------
    file, line
        Its file, relative to the folder of the version, and its line. For a request in
        a helper function, those of the call that passes the model's name.
    targets
        Names of the models that it may call.
    undecided
        The expression of the model's name if not all its values are known; else empty.
    is_async, is_stream
        Whether it is executed with ``async_exec``, and with ``decoupled=True``.
    is_single
        Whether each call that executes it is known and expects one response.
    inputs
        The tensors that it sends; None if unknown.
    outputs
        The outputs that it requests; None if unknown.
    """

    file: str
    line: int
    targets: tuple[str, ...]
    undecided: str = ""
    is_async: bool = False
    is_stream: bool = False
    is_single: bool = False
    inputs: tuple[SentTensor, ...] | None = None
    outputs: tuple[str, ...] | None = None


def bls_calls(source: Source, evaluator: Evaluator) -> list[BlsCall]:
    """Return the BLS calls of a source in order of their lines.

    A call in a helper function is returned once for each call of that function.
    """
    found = dict.fromkeys(
        _bls_call(call, scope, evaluator)
        for call, function in source.calls
        if is_request(call, source)
        for scope in itertools.islice(contexts(Scope(source, function)), _MAX_CONTEXTS)
    )
    return sorted(found, key=lambda call: call.line)


def _bls_call(call: ast.Call, scope: Scope, evaluator: Evaluator) -> BlsCall:
    arguments = request_arguments(call, scope, evaluator)
    name = arguments.get("model_name")
    target = OPEN if name is None else evaluator.possible(name, scope)
    undecided = ""
    if target.is_open or not target.texts:
        undecided = "**" if name is None else ast.unparse(name)
    own, executions = _executions(call, scope)
    return BlsCall(
        *_place(call, name, scope),
        tuple(sorted(target.texts)),
        undecided,
        any(method(each) == "async_exec" for each in executions),
        any(map(_is_decoupled, executions)),
        bool(own) and all(map(_is_single, own)),
        sent_tensors(arguments.get("inputs"), scope, evaluator),
        output_names(arguments.get("requested_output_names"), scope, evaluator),
    )


def _place(call: ast.Call, name: ast.expr | None, scope: Scope) -> tuple[str, int]:
    """Return file and line where the model's name is written."""
    used = {
        node.id
        for node in (ast.walk(name) if name is not None else ())
        if isinstance(node, ast.Name)
    }
    if scope.called_at and used & scope.bound.keys():
        return scope.called_at
    return scope.source.path, call.lineno


def _executions(
    request: ast.Call, scope: Scope
) -> tuple[list[ast.Call], list[ast.Call]]:
    """Return the calls that execute a request, and those that may execute it."""
    function = scope.function
    tree = scope.source.tree if function is None else function.node
    names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and node.value is request
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    executed = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and method(node) in _EXECUTES
    ]
    own = [each for each in executed if _is_on(each, request, names)]
    return own, own or executed


def _is_on(call: ast.Call, request: ast.Call, names: set[str]) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id=name)):
            return name in names
        case ast.Attribute(value=value):
            return value is request
    return False


def _is_decoupled(call: ast.Call) -> bool:
    return any(
        word.arg == "decoupled"
        and isinstance(word.value, ast.Constant)
        and bool(word.value.value)
        for word in call.keywords
    )


def _is_single(call: ast.Call) -> bool:
    """Whether a call of ``exec`` has no arguments, or only ``decoupled=False``."""
    values = [*call.args, *(word.value for word in call.keywords)]
    return all(isinstance(each, ast.Constant) and not each.value for each in values)
