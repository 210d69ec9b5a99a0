"""What the sources of a model import: read, never run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_GIVEN_BY_TRITON = frozenset({"triton_python_backend_utils", "c_python_backend_utils"})
_IMPORTERS = frozenset({"import_module", "__import__"})


def imported_modules(folder: Path) -> dict[str, set[Path]]:
    """Return the modules that the Python files of a model import, and which do so.

    Left out are modules of Python itself, those that Triton gives, and the model's
    own files. What is imported by a computed name cannot be seen.

    Parameters
    ----------
    folder
        The model's folder.
    """
    found: dict[str, set[Path]] = {}
    sources = sorted(path for path in folder.rglob("*.py") if path.is_file())
    own = frozenset(_own_names(folder, sources))
    for path in sources:
        for name in _names(path):
            top = name.partition(".")[0]
            if top not in own and not _is_given(top):
                found.setdefault(name, set()).add(path.relative_to(folder))
    return found


def _is_given(name: str) -> bool:
    return name in sys.stdlib_module_names or name in _GIVEN_BY_TRITON


def _own_names(folder: Path, sources: Iterable[Path]) -> Iterator[str]:
    """Yield what is found beside ``model.py``, or in the model's folder.

    Both are on ``sys.path`` there, and so are packages in them.
    """
    for path in sources:
        inner = path.relative_to(folder).parts
        # NAME/helper.py, NAME/1/helper.py, NAME/1/package/part.py
        for part in inner[:2]:
            yield part.removesuffix(".py")


def _names(path: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, also inside of functions."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError):
        # A file beside the model need not be one that this Python can read.
        return
    for node in _running(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                # The name may be a module of a package, or something in it.
                yield from (f"{module}.{alias.name}" for alias in node.names)
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _imports(node):
                if name and not name.startswith("."):
                    yield name


def _imports(call: ast.Call) -> bool:
    """Whether a call is ``importlib.import_module(...)`` or ``__import__(...)``."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _IMPORTERS
    return False


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those that only a type checker reads."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for other in child.orelse:
                yield from _running(other)
        else:
            yield from _running(child)
