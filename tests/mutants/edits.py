"""Single edits of a source, each of which a test should notice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple


class Edit(NamedTuple):
    """A part of a source, and its replacement.

    Positions are characters from the beginning.
    """

    start: int
    end: int
    text: str

    def applied(self, source: str) -> str:
        """Return the source with this edit."""
        return source[: self.start] + self.text + source[self.end :]

    def shown(self, source: str) -> str:
        """Return line number, old and new text."""
        line = source.count("\n", 0, self.start) + 1
        return f"{line}: {source[self.start : self.end]!r} -> {self.text!r}"


_COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_COMPUTED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_TYPES = ("TypeVar", "cast", "ParamSpec")


def of_python(source: str) -> list[Edit]:
    """Return every edit of a Python source, except of types and docstrings."""
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    found = []
    for node in _runs(ast.parse(source)):
        for first, last, old, new in _edits(node):
            start, end = (_at(source, lines, *position) for position in (first, last))
            if old:
                # The operator may be next to parentheses.
                start = source.find(old, start, end)
                end = start + len(old)
            edit = Edit(start, end, new)
            if start >= 0 and source[start:end] != new:
                found.append(edit)
    return sorted(set(found))


def _at(source: str, lines: list[int], line: int, column: int) -> int:
    """Return a position; Python counts columns in bytes."""
    begin = lines[line - 1]
    text = source[begin : lines[line]].encode()[:column].decode()
    return begin + len(text)


def is_valid(edit: Edit, source: str) -> bool:
    """Return whether an edited Python source compiles; parentheses may be missing."""
    try:
        compile(edit.applied(source), "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _runs(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are executed: no types, docstrings or imports."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if _is_ignored(child):
                continue
            if isinstance(child, ast.AST):
                yield child
                # Python 3.11 does not know where the parts of an f-string are.
                if not isinstance(child, ast.JoinedStr):
                    yield from _runs(child)


def _is_ignored(node: object) -> bool:
    """Return whether a node is an import, a docstring, or about types only."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant()):
            return True
        case ast.If(ast.Name("TYPE_CHECKING")):
            return True
        case ast.Call(ast.Name(name)):
            return name in _TYPES
    return False


Position = tuple[int, int]


def _edits(node: ast.AST) -> Iterator[tuple[Position, Position, str, str]]:
    """Yield start and end, the text to replace there (or all), and its replacement."""

    def between(left: ast.expr, right: ast.expr) -> tuple[Position, Position]:
        return _whole(left)[1], _whole(right)[0]

    match node:
        case ast.Compare(left, [op], [right]):
            yield *between(left, right), *_COMPARED[type(op)]
        case ast.BinOp(left, op, right) if type(op) in _COMPUTED:
            yield *between(left, right), *_COMPUTED[type(op)]
        case ast.BoolOp(op, [left, right, *_]):
            words = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            yield *between(left, right), *words
        case ast.UnaryOp(ast.Not()):
            yield *_whole(node), "not ", ""
        case ast.Constant(bool(value)):
            yield *_whole(node), "", str(not value)
        case ast.Constant(int(value)):
            yield *_whole(node), "", str(value + 1)
        case ast.Constant(str(value)) if value.isprintable() and value:
            yield *_whole(node), "", repr(f"{value}Q")
        case ast.JoinedStr([*_, ast.Constant(str(value))]) if value.isprintable():
            yield *_whole(node), value, f"{value}Q"
        case ast.If(test) | ast.While(test) | ast.IfExp(test):
            yield *_whole(test), "", f"(not ({ast.unparse(test)}))"
        case ast.Return(ast.expr() as value) if ast.unparse(value) != "None":
            yield *_whole(value), "", "None"
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Raise():
            yield *_whole(node), "", "pass"


def _whole(node: ast.expr | ast.stmt) -> tuple[Position, Position]:
    last = node.end_lineno or 0, node.end_col_offset or 0
    return (node.lineno, node.col_offset), last


_TYPESCRIPT = (
    (re.compile(r" (===|!==) "), {"===": "!==", "!==": "==="}),
    (re.compile(r" (<=?|>=?) "), {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}),
    (re.compile(r" (&&|\|\||\?\?) "), {"&&": "||", "||": "&&", "??": "&&"}),
    (re.compile(r" ([-+*/]) "), {"+": "-", "-": "+", "*": "/", "/": "*"}),
    (re.compile(r"(?<![\w.#$])(\d+)(?![\w.])"), None),
    (re.compile(r"\b(true|false)\b"), {"true": "false", "false": "true"}),
    (re.compile(r"(?<=[(&|=] )(!)(?=[\w(])|(?<=\()(!)(?=\w)"), {"!": ""}),
    (re.compile(r"\b(Math\.(?:min|max))\b"), {"Math.min": "Math.max"}),
)
_ASIDE = re.compile(
    r"/\*.*?\*/|//[^\n]*|^import .*?;$|^(?:export )?type .*?;$", re.S | re.M
)


def of_typescript(source: str) -> list[Edit]:
    """Return every edit of a TypeScript source, except of comments and types."""
    aside = [match.span() for match in _ASIDE.finditer(source)]
    found = []
    for pattern, instead in _TYPESCRIPT:
        for match in pattern.finditer(source):
            group = match.lastindex or 0
            start, end = match.span(group)
            if any(first <= start < last for first, last in aside):
                continue
            old = match[group]
            new = str(int(old) + 1) if instead is None else instead.get(old, "Math.min")
            found.append(Edit(start, end, new))
    return sorted(set(found))
