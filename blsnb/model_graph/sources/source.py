"""A parsed Python file of a model: its functions, assignments and calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

from blsnb.model_graph.sources.assignments import (
    FUNCTIONS,
    assignments,
    attribute_targets,
    inner,
)

_MAX_IMPORTS = 12
"""Maximum number of imports by which a name is followed to its definition."""
Assigned = tuple[ast.expr, "Function | None", bool]
"""An expression, its function, and whether the name is one of its elements."""


class Function:
    """A function of a source.

    Parameters
    ----------
    node
        Its definition.
    owner
        The class of a method; None for other functions.
    outer
        The enclosing function, if any.
    source
        Its file.
    """

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        owner: ast.ClassDef | None,
        outer: Function | None,
        source: Source,
    ) -> None:
        self.source = source
        self.node = node
        self.owner = owner
        self.outer = outer
        arguments = node.args
        self.parameters = [
            each.arg
            for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        ]
        positional = [*arguments.posonlyargs, *arguments.args]
        late = positional[len(positional) - len(arguments.defaults) :]
        pairs = [
            *zip(late, arguments.defaults, strict=True),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        self.defaults = {each.arg: value for each, value in pairs if value is not None}

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name

    @property
    def is_method(self) -> bool:
        """Whether its first parameter is the object or the class."""
        decorators = {
            each.id for each in self.node.decorator_list if isinstance(each, ast.Name)
        }
        return self.owner is not None and "staticmethod" not in decorators

    @cached_property
    def _assignments(self) -> dict[str, list[tuple[ast.expr | None, bool]]]:
        found: dict[str, list[tuple[ast.expr | None, bool]]] = {}
        for name, value, is_element in assignments(inner(self.node)):
            found.setdefault(name, []).append((value, is_element))
        return found

    def assigned(self, name: str) -> list[Assigned] | None:
        """Return the definitions of a local name; None for other names."""
        found = self._assignments.get(name)
        if found is None:
            return None
        return _followable([(value, self, element) for value, element in found])

    def returned(self) -> list[ast.expr]:
        """Return the expressions of its ``return`` statements."""
        return [
            node.value
            for node in inner(self.node)
            if isinstance(node, ast.Return) and node.value is not None
        ]


class Source:
    """A Python file of a model.

    Parameters
    ----------
    path
        The file's path in the folder of the version, such as ``"model.py"``.
    text
        Its contents.
    program
        All sources of the model, to which this one is added.

    Raises
    ------
    SyntaxError, ValueError
        The text is not valid Python.
    """

    def __init__(self, path: str, text: bytes, program: Program) -> None:
        self.path = path
        self.tree = ast.parse(text, path)
        self.program = program
        self.functions: list[Function] = []
        self.calls: list[tuple[ast.Call, Function | None]] = []
        """All calls, each with its enclosing function."""
        self._walk(self.tree, None, None)
        program.add(self)

    def _walk(
        self, node: ast.AST, owner: ast.ClassDef | None, function: Function | None
    ) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FUNCTIONS):
                made = Function(child, owner, function, self)
                self.functions.append(made)
                self._walk(child, None, made)
            elif isinstance(child, ast.ClassDef):
                self._walk(child, child, function)
            else:
                if isinstance(child, ast.Call):
                    self.calls.append((child, function))
                self._walk(child, owner, function)

    @cached_property
    def _top(self) -> dict[str, list[_Found]]:
        return _by_name(
            (name, value, None, is_element)
            for name, value, is_element in assignments(inner(self.tree))
        )

    def top_level(self, name: str) -> list[Assigned]:
        """Return the definitions of a name at the file's top level."""
        return _followable(self._top.get(name, []))

    @cached_property
    def _attributes(self) -> dict[str, list[_Found]]:
        found: list[tuple[str, ast.expr | None, Function | None, bool]] = [
            (name, value, function, False)
            for function in self.functions
            for name, value in attribute_targets(function.node)
        ]
        found += [
            (name, value, None, is_element)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ClassDef)
            for name, value, is_element in assignments(inner(node))
        ]
        return _by_name(found)

    def attribute(self, name: str) -> list[Assigned]:
        """Return the definitions of an attribute of ``self``, in any method."""
        return _followable(self._attributes.get(name, []))

    @cached_property
    def _imports(self) -> dict[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        for node in ast.walk(self.tree):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        outer, _, _ = alias.name.partition(".")
                        if not alias.asname:
                            found.setdefault(outer, (outer, ""))
                        found[alias.asname or alias.name] = alias.name, ""
                case ast.ImportFrom(module=module, names=names, level=level):
                    full = self._full_name(module or "", level)
                    for alias in names:
                        found[alias.asname or alias.name] = full, alias.name
        return found

    def _full_name(self, module: str, level: int) -> str:
        """Return the name of a module from the folder, where it begins with a dot.

        A relative import beyond the folder fails when it runs: its name is empty.
        """
        if not level:
            return module
        folders = self.path.split("/")
        if level > len(folders):
            return ""
        return "." + ".".join([*folders[:-level], *filter(None, [module])])

    def imported_module(self, name: str) -> str:
        """Return the name of an imported module, such as ``numpy`` for ``np``."""
        module, member = self._imports.get(name, ("", ""))
        return "" if member else module

    def imported_from(self, name: str) -> str:
        """Return the module of an imported member; empty for other names."""
        module, member = self._imports.get(name, ("", ""))
        return module if member else ""

    def module(self, name: str) -> Source | None:
        """Return the source of an imported module of the same folder.

        A name with dots is that of a module which another one imports, or has in its
        folder.
        """
        module, member = self._imports.get(name, ("", ""))
        if module:
            return self.program.module(f"{module}.{member}".strip("."))
        outer, _, last = name.rpartition(".")
        package = self.module(outer) if outer else None
        if package is None or last in package._imports:
            return package and package.module(last)
        is_folder = package.path.endswith("__init__.py")
        return self.program.module(package._full_name(last, 1)) if is_folder else None

    def origin(self, name: str) -> tuple[Source, str]:
        """Return source and name of a definition that imports may pass on."""
        source = self
        for _ in range(_MAX_IMPORTS):
            module, member = source._imports.get(name, ("", ""))
            if name in source._top or not member:
                break
            other = self.program.module(module)
            if other is None:
                break
            source, name = other, member
        return source, name

    def original_name(self, name: str) -> str:
        """Return the original name of an imported member."""
        return self._imports.get(name, ("", ""))[1] or name

    def called(self, call: ast.Call) -> Function | None:
        """Return the called function; None if it is ambiguous."""
        match call.func:
            case ast.Name(id=name):
                found = self.program.callables(self.origin(name)[1])
            case ast.Attribute(value=value, attr=name) if module := self.module(
                dotted(value)
            ):
                found = self.program.callables(module.origin(name)[1])
            case ast.Attribute(attr=name):
                known = self.program.by_name.get(name, ())
                found = [each for each in known if each.owner]
            case _:
                return None
        return found[0] if len(found) == 1 else None


def dotted(node: ast.expr) -> str:
    """Return a name with its attributes, such as ``a.b``; empty for other nodes."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name) if outer := dotted(value):
            return f"{outer}.{name}"
    return ""


_Found = tuple[ast.expr | None, "Function | None", bool]


def _by_name(
    found: Iterable[tuple[str, ast.expr | None, Function | None, bool]],
) -> dict[str, list[_Found]]:
    result: dict[str, list[_Found]] = {}
    for name, value, function, is_element in found:
        result.setdefault(name, []).append((value, function, is_element))
    return result


def _followable(found: list[_Found]) -> list[Assigned]:
    """Return the assignments; empty if one of them is not tracked."""
    known = [
        (value, function, is_element)
        for value, function, is_element in found
        if value is not None
    ]
    return known if len(known) == len(found) else []


class SourceCall(NamedTuple):
    """A call with its enclosing function and its file."""

    node: ast.Call
    caller: Function | None
    source: Source


class Program:
    """All sources of one model.

    Parameters
    ----------
    module
        Returns the source of a module in the model's folder; None for other modules.
    """

    def __init__(self, module: Callable[[str], Source | None]) -> None:
        self.module = module
        self.by_name: dict[str, list[Function]] = {}
        self.constructors: dict[str, list[Function]] = {}
        """The ``__init__`` of each class."""
        self._sources: list[Source] = []
        self._calls: dict[Function, list[SourceCall]] | None = None

    def add(self, source: Source) -> None:
        """Add a source."""
        self._sources.append(source)
        self._calls = None
        for function in source.functions:
            self.by_name.setdefault(function.name, []).append(function)
            if function.owner is not None and function.name == "__init__":
                made = self.constructors.setdefault(function.owner.name, [])
                made.append(function)

    def callables(self, name: str) -> list[Function]:
        """Return the functions of a name that are not methods, else constructors."""
        found = [each for each in self.by_name.get(name, ()) if not each.owner]
        return found or self.constructors.get(name, [])

    def calls_of(self, function: Function) -> list[SourceCall]:
        """Return the calls of a function in all sources."""
        if self._calls is None:
            self._calls = self._calls_by_function()
        return self._calls.get(function, [])

    def _calls_by_function(self) -> dict[Function, list[SourceCall]]:
        found: dict[Function, list[SourceCall]] = {}
        for source in self._sources:
            for node, caller in source.calls:
                function = source.called(node)
                if function is not None and function is not caller:
                    found.setdefault(function, []).append(
                        SourceCall(node, caller, source)
                    )
        return found
