"""Shift+Tab in the cells of models, whose names the kernel does not define."""

from __future__ import annotations

import inspect
import re
import sys
from types import ModuleType

_MODEL_CELL = re.compile(r"\s*%%triton_(?:model|file)\b[^\n]*\n")
_IMPORT = re.compile(
    r"^[ \t]*import[ \t]+(?P<name>[\w.]+)(?:[ \t]+as[ \t]+(?P<alias>\w+))?[ \t]*$", re.M
)
_NAME_AT_END = re.compile(r"[^\W\d]\w*$")
_MAX_FOUND = 3


def documentation(cell: str, position: int) -> str:
    """Return signature and docstring of a name in a model's cell.

    The source is read, never run.

    Parameters
    ----------
    cell
        The text of the cell, with its first line.
    position
        Number of characters before the cursor.

    Returns
    -------
    str
        Empty for other cells and unknown names.
    """
    magic = _MODEL_CELL.match(cell)
    if magic is None or position < magic.end():
        return ""
    try:
        import jedi
    except ImportError:
        # jedi is an optional dependency of IPython.
        return ""

    source, before = cell[magic.end() :], cell[magic.end() : position]
    line, column = before.count("\n") + 1, len(before.rpartition("\n")[2])
    script = jedi.Interpreter(source, [_loaded_modules(source)])
    if _NAME_AT_END.search(before):
        found = [each.docstring().strip() for each in script.help(line, column)]
        if not any(found):
            found = [_loaded_documentation(source, len(before))]
    else:
        # Within the arguments of a call, its function is documented.
        calls = script.get_signatures(line, column)
        found = [f"{c.to_string()}\n\n{c.docstring(raw=True)}".strip() for c in calls]
    return "\n\n".join(filter(None, found[:_MAX_FOUND]))


def _loaded_documentation(source: str, position: int) -> str:
    """Return the docstring of a member of a loaded module, such as ``np.negative``."""
    begun = re.search(r"[\w.]+$", source[:position])
    rest = re.match(r"\w*", source[position:])
    first, *names = ((begun[0] if begun else "") + (rest[0] if rest else "")).split(".")
    value: object = _loaded_modules(source).get(first)
    for name in names:
        value = getattr(value, name, None)
    return (value is not None and inspect.getdoc(value)) or ""


def _loaded_modules(source: str) -> dict[str, ModuleType]:
    """Return the loaded modules among the imports of a source, by name."""
    found = ((m["name"], m["alias"] or m["name"]) for m in _IMPORT.finditer(source))
    return {
        alias: sys.modules[name]
        for name, alias in found
        if name in sys.modules and "." not in alias
    }
