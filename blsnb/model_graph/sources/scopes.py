"""The definitions of names where an expression stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from blsnb.model_graph.sources.source import Function, Source, dotted


@dataclass(frozen=True, slots=True)
class Scope:
    """The context of an expression: its function and the arguments of the call.

    Parameters
    ----------
    source
        The file.
    function
        The function; None at the file's top level.
    bound
        The argument of each parameter, and the scope of that argument.
    called_at
        File and line of the outermost call in the chain; None without a call.
    """

    source: Source
    function: Function | None = None
    bound: Mapping[str, tuple[ast.expr, Scope]] = field(default_factory=dict)
    called_at: tuple[str, int] | None = None


Definition = tuple[ast.expr, Scope, bool]
"""An expression, its scope, and whether the name is one of its elements."""


def definitions(node: ast.Name | ast.Attribute, scope: Scope) -> list[Definition]:
    """Return the definitions of a name or an attribute; empty if unknown."""
    source, function = scope.source, scope.function
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            return _with_scope(source.attribute(node.attr), source)
        module = source.module(dotted(node.value))
        return [] if module is None else _passed_on(node.attr, module)
    if node.id in scope.bound:
        return [(*scope.bound[node.id], False)]
    if function is not None:
        local = function.assigned(node.id)
        if local is not None:
            return [(value, scope, is_element) for value, _, is_element in local]
        if node.id in function.parameters:
            return _arguments(node.id, function)
        if function.outer is not None:
            return definitions(node, Scope(source, function.outer, scope.bound))
    return _passed_on(node.id, source)


def _passed_on(name: str, source: Source) -> list[Definition]:
    """Return the definitions of a name of a source, which it may import."""
    origin, original = source.origin(name)
    return _with_scope(origin.top_level(original), origin)


def _arguments(name: str, function: Function) -> list[Definition]:
    """Return the arguments that callers pass for a parameter, or its default."""
    calls = function.source.program.calls_of(function)
    found = [
        (*bound[name], False)
        for call in calls
        for bound in [bind(function, call.node, Scope(call.source, call.caller))]
        if name in bound
    ]
    default = function.defaults.get(name)
    if not calls and default is not None:
        return [(default, Scope(function.source), False)]
    return found


def _with_scope(
    found: list[tuple[ast.expr, Function | None, bool]], source: Source
) -> list[Definition]:
    return [
        (value, Scope(source, function), is_element)
        for value, function, is_element in found
    ]


def bind(
    function: Function, call: ast.Call, scope: Scope
) -> dict[str, tuple[ast.expr, Scope]]:
    """Return the argument of each parameter of a called function."""
    bound = {
        name: (value, Scope(function.source))
        for name, value in function.defaults.items()
    }
    names = function.parameters
    if function.is_method:
        names = names[1:]
    for name, value in zip(names, call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        bound[name] = value, scope
    for keyword in call.keywords:
        if keyword.arg is not None:
            bound[keyword.arg] = keyword.value, scope
    return bound


def contexts(scope: Scope, limit: int = 3) -> Iterator[Scope]:
    """Yield the scope of each call of a function, with the call's arguments.

    A function without callers is yielded once, without arguments.
    """
    function = scope.function
    calls = [] if function is None else function.source.program.calls_of(function)
    if function is None or not calls or not limit:
        yield scope
        return
    for call in calls:
        for outer in contexts(Scope(call.source, call.caller), limit - 1):
            bound = bind(function, call.node, outer)
            site = outer.called_at or (call.source.path, call.node.lineno)
            yield Scope(scope.source, function, bound, site)
