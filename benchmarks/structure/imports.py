"""Imports of a package, read from its source: who imports whom, and when."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from benchmarks.structure.source import FUNCTIONS, SourceFile


class Kind(enum.Enum):
    """When an import takes place."""

    TOP = "on import"
    TYPING = "for type checking"
    LAZY = "in a function"


@dataclass(frozen=True)
class Import:
    """One import; ``imported`` is a file of the package or a library's module."""

    importer: str
    imported: str
    line: int
    kind: Kind

    @property
    def library(self) -> str:
        """The first part of what is imported."""
        return self.imported.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} -> {self.imported} ({self.kind.value})"


@dataclass(frozen=True)
class Imports:
    """All imports of a package."""

    internal: tuple[Import, ...]
    """Of files of the package."""
    external: tuple[Import, ...]
    """Of modules of libraries, Python's own included."""

    def edges(self, *kinds: Kind) -> dict[str, set[str]]:
        """Return the files that each file imports; all kinds unless some are named."""
        edges: dict[str, set[str]] = {}
        for each in self.internal:
            if not kinds or each.kind in kinds:
                edges.setdefault(each.importer, set()).add(each.imported)
        return edges


def read_imports(package: str, files: Mapping[str, SourceFile]) -> Imports:
    """Read the imports of every file of a package.

    A string that is the full name of a module counts as a function-level import:
    ``importlib.import_module`` takes it. Importing a module counts for that module
    only, not for the packages around it, as Python tells neither which is meant.
    """
    modules = {module_name(package, path): path for path in files}
    parts = [file_imports(file, package, modules) for file in files.values()]
    return Imports(
        tuple(each for part in parts for each in part.internal),
        tuple(each for part in parts for each in part.external),
    )


def file_imports(file: SourceFile, package: str, modules: Mapping[str, str]) -> Imports:
    """Read the imports of one file; ``modules`` has each module's file by its name."""
    internal, external = [], []
    for name, line, kind in _named(file, package, modules):
        path = _home(name, modules)
        if path is None:
            external.append(Import(file.path, name, line, kind))
        elif path != file.path:
            internal.append(Import(file.path, path, line, kind))
    return Imports(tuple(internal), tuple(external))


def module_name(package: str, path: str) -> str:
    """Return the full name of the module in a file."""
    parts = [package, *path.removesuffix(".py").split("/")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _home(name: str, modules: Mapping[str, str]) -> str | None:
    """Return the file of a module, or of the module that has an object."""
    return modules.get(name) or modules.get(name.rpartition(".")[0])


def _named(
    file: SourceFile, package: str, modules: Mapping[str, str]
) -> Iterator[tuple[str, int, Kind]]:
    here = module_name(package, file.path)
    base = here if file.name == "__init__.py" else here.rpartition(".")[0]
    for node, kind in _with_kinds(file.tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno, kind) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(node, base)
            names = (f"{source}.{alias.name}" for alias in node.names)
            known = {name if name in modules else source for name in names}
            yield from ((name, node.lineno, kind) for name in sorted(known))
        elif isinstance(node, ast.Constant) and _is_file(node.value, modules):
            yield str(node.value), node.lineno, Kind.LAZY


def _absolute(node: ast.ImportFrom, base: str) -> str:
    if not node.level:
        return node.module or ""
    parts = base.split(".")[: len(base.split(".")) - node.level + 1]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _is_file(value: object, modules: Mapping[str, str]) -> bool:
    """Whether a constant is a module's name; a package's names its logger, too."""
    path = modules.get(value) if isinstance(value, str) else None
    return path is not None and not path.endswith("__init__.py")


def _with_kinds(tree: ast.Module) -> Iterator[tuple[ast.AST, Kind]]:
    """Yield each node in the order of the text, with the kind an import there has."""
    stack: list[tuple[ast.AST, Kind]] = [(tree, Kind.TOP)]
    while stack:
        node, kind = stack.pop()
        yield node, kind
        if isinstance(node, (*FUNCTIONS, ast.Lambda)):
            kind = Kind.LAZY
        guarded = node.body if _is_type_checking(node) else ()
        children = [
            (child, _typing(kind) if child in guarded else kind)
            for child in ast.iter_child_nodes(node)
        ]
        stack.extend(reversed(children))


def _typing(kind: Kind) -> Kind:
    return kind if kind is Kind.LAZY else Kind.TYPING


def _is_type_checking(node: ast.AST) -> TypeGuard[ast.If]:
    if not isinstance(node, ast.If):
        return False
    test = node.test
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"
