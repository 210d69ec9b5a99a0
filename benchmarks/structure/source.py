"""Python files of a package, parsed once."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class SourceFile:
    """One Python file; ``path`` is relative to the package and uses slashes."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """The file, parsed anew: the trees of a whole package are large."""
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the parsed file."""
        return list(ast.walk(self.tree))

    @property
    def folder(self) -> str:
        """The folder that holds the file; empty for the package's own folder."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.rpartition("/")[2]

    @cached_property
    def lines(self) -> int:
        """Number of lines."""
        return self.text.count("\n")

    @cached_property
    def code_lines(self) -> int:
        """Number of lines that are neither blank, comment nor docstring."""
        documented = {
            line for node in self.docstrings for line in range(*_extent(node))
        }
        return sum(
            number not in documented and _is_code(line)
            for number, line in enumerate(self.text.splitlines(), 1)
        )

    @cached_property
    def docstrings(self) -> list[ast.Expr]:
        """Strings that stand alone: docstrings of modules, functions and constants."""
        return [
            node
            for node in self.nodes
            if isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ]

    @cached_property
    def functions(self) -> list[Function]:
        """Every function and method, nested ones included."""
        return [node for node in self.nodes if isinstance(node, FUNCTIONS)]


def read_package(root: Path) -> dict[str, SourceFile]:
    """Return the Python files of a package by path, sorted."""
    paths = sorted(root.rglob("*.py"))
    files = (SourceFile(p.relative_to(root).as_posix(), p.read_text()) for p in paths)
    return {file.path: file for file in files}


def length(function: Function) -> int:
    """Return the number of lines of a function's body, without its docstring."""
    documented = ast.get_docstring(function, clean=False) is not None
    body = function.body[documented:]
    return _extent(body[-1])[1] - body[0].lineno if body else 0


def _extent(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, (node.end_lineno or node.lineno) + 1


def _is_code(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")
