"""Static description of the tensors that a BLS call sends."""

from __future__ import annotations

import ast
from typing import NamedTuple

from blsnb.model_graph.sources.made_arrays import datatype_of, literal_shape, made_array
from blsnb.model_graph.sources.possible import Evaluator
from blsnb.model_graph.sources.scopes import Scope
from blsnb.model_graph.sources.source import Source
from blsnb.tensors.dtypes import Shape

_REQUEST = "InferenceRequest"
_POSITIONS = (
    *("request_id", "correlation_id", "inputs"),
    *("requested_output_names", "model_name"),
)
_TENSORS = ("Tensor", "get_input_tensor_by_name", "get_output_tensor_by_name")


class SentTensor(NamedTuple):
    """A tensor that a BLS call sends.

    Parameters
    ----------
    name
        Its name.
    own_input
        Name of the caller's input that is passed on; empty for other values.
    output_of
        Model and output whose tensor is passed on; None for other values.
    datatype
        Data type such as ``"FP32"``; empty if unknown.
    shape
        Full shape with the batch axis; None if unknown.
    """

    name: str
    own_input: str = ""
    output_of: tuple[str, str] | None = None
    datatype: str = ""
    shape: Shape | None = None


def is_request(call: ast.Call, source: Source) -> bool:
    """Whether a call makes an ``InferenceRequest``."""
    match call.func:
        case ast.Attribute(attr=name):
            return name == _REQUEST
        case ast.Name(id=name):
            return source.original_name(name) == _REQUEST
    return False


def request_arguments(
    call: ast.Call, scope: Scope, evaluator: Evaluator
) -> dict[str, ast.expr]:
    """Return the arguments of an ``InferenceRequest`` by name."""
    found = dict(zip(_POSITIONS, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg is not None:
            found[keyword.arg] = keyword.value
            continue
        held, _ = evaluator.followed(keyword.value, scope)
        if isinstance(held, ast.Dict):
            for key, value in zip(held.keys, held.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    found[key.value] = value
    return found


def list_items(
    node: ast.expr | None, scope: Scope, evaluator: Evaluator
) -> list[tuple[ast.expr, Scope]]:
    """Return the items of a list literal; empty for other expressions."""
    if node is None:
        return []
    held, where = evaluator.followed(node, scope)
    if not isinstance(held, ast.List | ast.Tuple):
        return []
    is_changed = held is not node and _is_changed(node, scope)
    if is_changed or any(isinstance(each, ast.Starred) for each in held.elts):
        return []
    return [(each, where) for each in held.elts]


def _is_changed(node: ast.expr, scope: Scope) -> bool:
    """Whether a list may be modified later, as by ``tensors.append(...)``."""
    if not isinstance(node, ast.Name) or scope.function is None:
        return True
    if node.id in scope.bound:
        return _is_changed(*scope.bound[node.id]) and isinstance(
            scope.bound[node.id][0], ast.Name
        )
    return any(
        isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id == node.id
        for each in ast.walk(scope.function.node)
    )


def sent_tensor(
    node: ast.expr, scope: Scope, evaluator: Evaluator
) -> SentTensor | None:
    """Return the tensor that an expression creates or passes on; None if unknown."""
    held, where = evaluator.followed(node, scope)
    if not isinstance(held, ast.Call):
        return None
    arguments = [*held.args, *(keyword.value for keyword in held.keywords)]
    function = method(held)
    if function not in _TENSORS or len(arguments) < 2:
        return None
    named = arguments[0] if function == "Tensor" else arguments[1]
    name = evaluator.possible(named, where).only
    if not isinstance(name, str):
        return None
    if function == "Tensor":
        return _array(name, arguments[1], where, evaluator)
    if function == "get_input_tensor_by_name":
        return SentTensor(name, own_input=name)
    model = _responding_model(arguments[0], where, evaluator)
    return SentTensor(name, output_of=(model, name) if model else None)


def _array(name: str, node: ast.expr, scope: Scope, evaluator: Evaluator) -> SentTensor:
    held, where = evaluator.followed(node, scope)
    if not (isinstance(held, ast.Call) and isinstance(held.func, ast.Attribute)):
        return SentTensor(name)
    base, function = held.func.value, held.func.attr
    if function == "as_numpy":
        same = sent_tensor(base, where, evaluator)
        return SentTensor(name, *((same.own_input, same.output_of) if same else ()))
    if function == "astype" and held.args:
        shape = _array(name, base, where, evaluator).shape
        datatype = datatype_of(held.args[0], where.source)
        return SentTensor(name, datatype=datatype, shape=shape)
    if function == "reshape":
        datatype = _array(name, base, where, evaluator).datatype
        return SentTensor(name, datatype=datatype, shape=_reshaped(held.args))
    made = made_array(held, where.source)
    return SentTensor(name, datatype=made.datatype, shape=made.shape)


def _reshaped(arguments: list[ast.expr]) -> Shape | None:
    """Return the shape in the arguments of ``reshape``, with -1 where it is open."""
    if len(arguments) < 2:
        return literal_shape(arguments[0]) if arguments else None
    return literal_shape(ast.Tuple(arguments, ast.Load()))


def _responding_model(node: ast.expr, scope: Scope, evaluator: Evaluator) -> str:
    """Return the model that sent a response; empty if unknown."""
    held, where = evaluator.followed(node, scope)
    if not isinstance(held, ast.Call) or method(held) not in ("exec", "async_exec"):
        return ""
    assert isinstance(held.func, ast.Attribute)
    made, inner = evaluator.followed(held.func.value, where)
    if not (isinstance(made, ast.Call) and is_request(made, inner.source)):
        return ""
    target = request_arguments(made, inner, evaluator).get("model_name")
    name = None if target is None else evaluator.possible(target, inner).only
    return name if isinstance(name, str) else ""


def sent_tensors(
    node: ast.expr | None, scope: Scope, evaluator: Evaluator
) -> tuple[SentTensor, ...] | None:
    """Return the tensors that a list creates or passes on; None if one is unknown."""
    items = list_items(node, scope, evaluator)
    sent = [sent_tensor(each, where, evaluator) for each, where in items]
    known = tuple(each for each in sent if each is not None)
    return known if known and len(known) == len(sent) else None


def output_names(
    node: ast.expr | None, scope: Scope, evaluator: Evaluator
) -> tuple[str, ...] | None:
    """Return the strings of a list; None if one is unknown."""
    items = list_items(node, scope, evaluator)
    names = [evaluator.possible(each, where).only for each, where in items]
    known = tuple(name for name in names if isinstance(name, str))
    return known if known and len(known) == len(names) else None


def method(call: ast.Call) -> str:
    """Return the last name of a called function; empty for other expressions."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
