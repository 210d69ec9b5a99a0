"""Evaluate expressions of a source statically: the constants that they can be."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blsnb.model_graph.sources.scopes import Scope, bind, definitions

_MAX_DEPTH = 12
"""Maximum number of names, attributes and calls followed for one expression."""
_MAX_STEPS = 100_000
"""Maximum number of expressions evaluated for one model."""
_MAX_VALUES = 64
"""Maximum number of values of an expression; an expression with more is open."""
_TEXT_METHODS = frozenset(
    {"lower", "upper", "strip", "removeprefix", "removesuffix", "replace", "format"}
)


@dataclass(frozen=True, slots=True)
class Possible:
    """The constants that an expression can be.

    Parameters
    ----------
    values
        The constants found.
    is_open
        Whether it can have further, unknown values.
    """

    values: frozenset[Any] = frozenset()
    is_open: bool = False

    def __or__(self, other: Possible) -> Possible:
        values = self.values | other.values
        if len(values) > _MAX_VALUES:
            return OPEN
        return Possible(values, self.is_open or other.is_open)

    @property
    def texts(self) -> frozenset[str]:
        """The values that are strings."""
        return frozenset(value for value in self.values if isinstance(value, str))

    @property
    def only(self) -> Any:
        """The value if it is the only one; else None."""
        [value] = self.values if len(self.values) == 1 and not self.is_open else [None]
        return value


OPEN = Possible(is_open=True)


class Evaluator:
    """Evaluates expressions of a model's sources.

    Parameters
    ----------
    parameters
        The ``parameters`` of the model's configuration.
    """

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self._parameters = parameters
        self._steps = 0

    def possible(self, node: ast.expr, scope: Scope, depth: int = 0) -> Possible:
        """Return the values that an expression can have."""
        self._steps += 1
        if depth > _MAX_DEPTH or self._steps > _MAX_STEPS:
            return OPEN
        parameter = self._config_parameter(node, scope, depth)
        if parameter is not None:
            return parameter
        match node:
            case ast.Constant(value=value):
                return Possible(frozenset({value}))
            case ast.JoinedStr(values=parts):
                return self._joined(parts, scope, depth)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self.possible(value, scope, depth + 1)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._joined([left, right], scope, depth)
            case ast.IfExp(body=body, orelse=other):
                return self._any([body, other], scope, depth)
            case ast.BoolOp(values=values):
                return self._any(values, scope, depth)
            case ast.Await(value=value) | ast.NamedExpr(value=value):
                return self.possible(value, scope, depth)
            case ast.Subscript(value=base, slice=index):
                return self._item(base, index, scope, depth)
            case ast.Call():
                return self._call(node, scope, depth)
            case ast.Name() | ast.Attribute():
                return self._of_definitions(node, scope, depth)
        return OPEN

    def followed(
        self, node: ast.expr, scope: Scope, depth: int = 0
    ) -> tuple[ast.expr, Scope]:
        """Return the expression that a name is bound to, if there is exactly one."""
        if depth > _MAX_DEPTH:
            return node, scope
        if isinstance(node, ast.Name | ast.Attribute):
            found = definitions(node, scope)
            if found is not None and len(found) == 1:
                value, where, is_element = found[0]
                if not is_element:
                    return self.followed(value, where, depth + 1)
        if isinstance(node, ast.Await | ast.NamedExpr):
            return self.followed(node.value, scope, depth + 1)
        return node, scope

    def elements(self, node: ast.expr, scope: Scope, depth: int) -> Possible:
        """Return the values that the elements of a sequence can have."""
        value, where = self.followed(node, scope, depth)
        match value:
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return self._any(parts, where, depth)
            case ast.Dict(keys=keys):
                return self._any([key for key in keys if key], where, depth)
            case ast.Call(func=ast.Attribute(value=base, attr="values")):
                held, inner = self.followed(base, where, depth)
                if isinstance(held, ast.Dict):
                    return self._any(held.values, inner, depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.elements(left, where, depth + 1) | self.elements(
                    right, where, depth + 1
                )
        return OPEN

    def _any(self, nodes: list[ast.expr], scope: Scope, depth: int) -> Possible:
        found = Possible()
        for node in nodes:
            found |= self.possible(node, scope, depth + 1)
        return found

    def _joined(self, parts: list[ast.expr], scope: Scope, depth: int) -> Possible:
        found = [self.possible(part, scope, depth + 1) for part in parts]
        count = math.prod(len(part.values) for part in found)
        if any(part.is_open for part in found) or count > _MAX_VALUES:
            return OPEN
        texts = itertools.product(*(part.values for part in found))
        return Possible(frozenset("".join(map(str, each)) for each in texts))

    def _item(
        self, base: ast.expr, index: ast.expr, scope: Scope, depth: int
    ) -> Possible:
        held, where = self.followed(base, scope, depth)
        match held:
            case ast.Dict(keys=keys, values=values):
                wanted = self.possible(index, scope, depth + 1)
                pairs = zip(keys, values, strict=True)
                chosen = [
                    value
                    for key, value in pairs
                    if wanted.is_open
                    or key is None
                    or self.possible(key, where, depth + 1).values & wanted.values
                ]
                return self._any(chosen, where, depth)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return self._any(parts, where, depth)
        return OPEN

    def _call(self, node: ast.Call, scope: Scope, depth: int) -> Possible:
        match node.func:
            case ast.Name(id="str"):
                return self._any(node.args[:1], scope, depth)
            case ast.Attribute(value=base, attr="get") if node.args:
                found = self._item(base, node.args[0], scope, depth)
                return found | self._any(node.args[1:2], scope, depth)
            case ast.Attribute(value=base, attr=name) if name in _TEXT_METHODS:
                return self._text_method(base, name, node, scope, depth)
        function = scope.source.called(node)
        if function is None:
            # A converter that is a parameter, such as `pytype=str`.
            return self._converted(node, scope, depth)
        inner = Scope(function.source, function, bind(function, node, scope))
        returned = function.returned()
        return self._any(returned, inner, depth) if returned else OPEN

    def _converted(self, node: ast.Call, scope: Scope, depth: int) -> Possible:
        match node:
            case ast.Call(func=ast.Name() as name, args=[argument], keywords=[]):
                converter, _ = self.followed(name, scope, depth)
                if isinstance(converter, ast.Name) and converter.id == "str":
                    return self.possible(argument, scope, depth + 1)
        return OPEN

    def _text_method(
        self, base: ast.expr, name: str, node: ast.Call, scope: Scope, depth: int
    ) -> Possible:
        arguments = [self.possible(arg, scope, depth + 1).only for arg in node.args]
        found = self.possible(base, scope, depth + 1)
        if node.keywords or found.is_open or None in arguments:
            return OPEN
        try:
            texts = {getattr(text, name)(*arguments) for text in found.texts}
        except (TypeError, ValueError, LookupError):
            return OPEN
        return Possible(frozenset(texts))

    def _of_definitions(
        self, node: ast.Name | ast.Attribute, scope: Scope, depth: int
    ) -> Possible:
        found = definitions(node, scope)
        if not found:
            return OPEN
        result = Possible()
        for value, where, is_element in found:
            read = self.elements if is_element else self.possible
            result |= read(value, where, depth + 1)
        return result

    def _config_parameter(
        self, node: ast.expr, scope: Scope, depth: int
    ) -> Possible | None:
        """Return the value of ``parameters[name]["string_value"]``; else None."""
        base, key, default = subscript(node)
        if base is None or key is None:
            return None
        if not (isinstance(key, ast.Constant) and key.value == "string_value"):
            return None
        entry, where = self.followed(base, scope, depth)
        _, name, _ = subscript(entry)
        if name is None:
            return None
        found = self._parameter_named(self.possible(name, where, depth + 1))
        if default is not None and not found.values:
            found |= self.possible(default, scope, depth + 1)
        return found

    def _parameter_named(self, name: Possible) -> Possible:
        values = {
            self._parameters[text] for text in name.texts if text in self._parameters
        }
        return Possible(frozenset(values), name.is_open)


def subscript(
    node: ast.expr,
) -> tuple[ast.expr | None, ast.expr | None, ast.expr | None]:
    """Return base, key and default of ``base[key]`` and ``base.get(key, default)``."""
    match node:
        case ast.Subscript(value=base, slice=key):
            return base, key, None
        case ast.Call(func=ast.Attribute(value=base, attr="get"), args=[key, *more]):
            return base, key, more[0] if more else None
    return None, None, None
