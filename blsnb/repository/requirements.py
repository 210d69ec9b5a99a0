"""The requirements.txt of models: the packages they import, in installed versions."""

from __future__ import annotations

import ast
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path

REQUIREMENTS = "requirements.txt"
_PROVIDED = frozenset({"triton_python_backend_utils", "c_python_backend_utils"})
"""Modules that Triton provides."""
_IMPORTERS = frozenset({"import_module", "__import__"})
_HEAD = """\
# What the models of this folder import, in the versions that were in use when it was
# exported (Python {python}). Triton's own Python may be another release: where a pin
# has no package for it, take the nearest one that has.
"""
_UNKNOWN = """
# Imported, but of no installed package; add what holds it, or put its file beside the
# model:
"""


def requirements_text(models: Iterable[Path]) -> str:
    """Return a text for pip; comments list modules whose package is unknown.

    Parameters
    ----------
    models
        The models' folders.
    """
    users: dict[str, set[str]] = {}
    for folder in models:
        for module, files in imported_modules(folder).items():
            names = users.setdefault(module, set())
            names.update(f"{folder.name}/{file.as_posix()}" for file in files)
    # Slow: it reads every installed package.
    providers = metadata.packages_distributions() if users else {}
    pins: set[str] = set()
    unknown: dict[str, set[str]] = {}
    for module, using in users.items():
        found = _distributions(module, providers)
        pins.update(f"{name}=={metadata.version(name)}" for name in found)
        if not found:
            unknown.setdefault(module.partition(".")[0], set()).update(using)
    return _text(sorted(pins, key=str.lower), unknown)


def _text(pins: Sequence[str], unknown: Mapping[str, set[str]]) -> str:
    lines = [f"{pin}\n" for pin in pins]
    if unknown:
        lines.append(_UNKNOWN)
    for name, files in sorted(unknown.items()):
        lines.append(f"# {name} ({', '.join(sorted(files))})\n")
    return _HEAD.format(python=platform.python_version()) + "".join(lines)


def _distributions(
    module: str, providers: Mapping[str, Sequence[str]]
) -> frozenset[str]:
    """Return the packages of a module; several if they cannot be told apart.

    A name such as ``google`` belongs to several, whose files are compared.
    """
    candidates = frozenset(providers.get(module.partition(".")[0], ()))
    if len(candidates) < 2:
        return candidates
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        path = "/".join(parts[:length])
        holding = frozenset(name for name in candidates if _holds(name, path))
        if holding:
            return holding
    return candidates


def _holds(distribution: str, path: str) -> bool:
    """Whether a package has a module at a path such as ``google/protobuf``."""
    files = metadata.files(distribution) or ()
    heads = (f"{path}.", f"{path}/")
    return any(file.as_posix().startswith(heads) for file in files)


def imported_modules(folder: Path) -> dict[str, set[Path]]:
    """Return the modules that a model imports, with the files that import them.

    The files are parsed, never run. Modules of Python, of Triton and of the model
    itself are left out; an import by a computed name cannot be seen.
    """
    found: dict[str, set[Path]] = {}
    sources = sorted(path for path in folder.rglob("*.py") if path.is_file())
    own = _PROVIDED.union(sys.stdlib_module_names, _own_names(folder, sources))
    for path in sources:
        for name in _imported_names(path):
            top = name.partition(".")[0]
            if top not in own:
                found.setdefault(name, set()).add(path.relative_to(folder))
    return found


def _own_names(folder: Path, sources: Iterable[Path]) -> Iterator[str]:
    """Yield the modules and packages beside ``model.py`` and in the model's folder."""
    for path in sources:
        inner = path.relative_to(folder).parts
        # NAME/helper.py, NAME/1/helper.py, NAME/1/package/part.py
        for part in inner[:2]:
            yield part.removesuffix(".py")


def _imported_names(path: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, also in functions."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError):
        # A file beside the model need not be valid for this Python.
        return
    for node in _executed(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                # The name may be a submodule, or a member of the module.
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


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes except those that only type checkers read."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for other in child.orelse:
                yield from _executed(other)
        else:
            yield from _executed(child)
