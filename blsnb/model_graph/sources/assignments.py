"""Assignments in a syntax tree: names and their values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def inner(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a body in order; skip nested functions and classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            continue
        yield child
        yield from inner(child)


def assignments(
    nodes: Iterator[ast.AST],
) -> Iterator[tuple[str, ast.expr | None, bool]]:
    """Yield assigned names with their values; None for a value that is not tracked."""
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _unpacked(target, value, False)
            case (
                ast.AnnAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
            ) if value is not None:
                yield from _unpacked(target, value, False)
            case (
                ast.For(target=target, iter=value)
                | ast.AsyncFor(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
            ):
                yield from _looped(target, value)
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name, None, False


def _looped(
    target: ast.expr, value: ast.expr
) -> Iterator[tuple[str, ast.expr | None, bool]]:
    match target, value:
        case (
            ast.Tuple(elts=[_, second]),
            ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]),
        ):
            yield from _unpacked(second, inner, True)
        case (
            ast.Tuple(elts=[ast.Name(id=name), _]),
            ast.Call(func=ast.Attribute(value=inner, attr="items")),
        ):
            yield name, inner, True
        case ast.Tuple(elts=names), (ast.Tuple(elts=rows) | ast.List(elts=rows)):
            for number, each in enumerate(names):
                if isinstance(each, ast.Name):
                    yield each.id, _column(rows, number), True
        case _:
            yield from _unpacked(target, value, True)


def _column(rows: list[ast.expr], number: int) -> ast.expr | None:
    """Return one column of a list of tuples; None if a row is not a literal."""
    items = [
        row.elts[number]
        for row in rows
        if isinstance(row, ast.Tuple | ast.List) and number < len(row.elts)
    ]
    return ast.Tuple(items, ast.Load()) if len(items) == len(rows) else None


def _unpacked(
    target: ast.expr, value: ast.expr, is_element: bool
) -> Iterator[tuple[str, ast.expr | None, bool]]:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value, is_element
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if (
            len(targets) == len(values) and not is_element
        ):
            for one, each in zip(targets, values, strict=True):
                yield from _unpacked(one, each, False)
        case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), _):
            for one in targets:
                if isinstance(one, ast.Name):
                    yield one.id, None, False


def attribute_targets(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the attributes of ``self`` that a function assigns, with their values.

    A value that is not tracked is None.
    """
    for child in inner(node):
        match child:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if name := _own_attribute(target):
                        yield name, value
            case ast.AnnAssign(target=target, value=value) if value is not None:
                if name := _own_attribute(target):
                    yield name, value
            case ast.AugAssign(target=target):
                if name := _own_attribute(target):
                    yield name, None


def _own_attribute(target: ast.expr) -> str:
    match target:
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            return name
    return ""
