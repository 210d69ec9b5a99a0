"""Cell transformations: ``%triton_model`` as first line, misplaced cell magics."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from IPython.core.error import UsageError

_FIRST = r"(?P<above>\s*)%triton_model(?!\w)(?P<line>[^\n?]*)\n"
_CELL_MAGICS = ("triton_model", "triton_config", "triton_file")
_HELP = r"\s*%%triton_(model|config|file)[^\n]*\s--help\s*"


def source_below(cell: str) -> str | None:
    """Return the text below a first line ``%triton_model``; None without that line.

    As with a cell magic, blank lines above it do not count, and the last line of the
    result ends with a newline.
    """
    found = re.match(_FIRST, cell)
    text = cell[found.end() :] if found else ""
    if not text.strip():
        return None
    return text if text.endswith("\n") else f"{text}\n"


def move_to_the_end(lines: list[str]) -> list[str]:
    """Run a cell that begins with ``%triton_model`` before it becomes a model.

    The first line stays as a comment, so that all others keep their numbers.
    """
    cell = "".join(lines)
    below = source_below(cell)
    found = re.match(_FIRST, cell)
    if below is None or found is None:
        return lines
    line = found["line"].strip()
    call = f"get_ipython().run_line_magic('triton_model', {line!r})\n"
    text = f"{found['above']}# %triton_model {line}\n{below}{call}"
    return text.splitlines(keepends=True)


def help_without_body(lines: list[str]) -> list[str]:
    """Add an empty body to a cell that requests only the help of a cell magic.

    IPython refuses a cell magic without a body before the magic is called.
    """
    return [*lines, "\n", "\n"] if re.fullmatch(_HELP, "".join(lines)) else lines


def register(shell: Any) -> Callable[[], None]:
    """Add the transformation and the refusals; return a function that removes them.

    IPython would treat a cell magic below the first line as an unknown line magic.
    """
    transformations = shell.input_transformers_cleanup
    added = (move_to_the_end, help_without_body)
    transformations.extend(added)
    line_magics = shell.magics_manager.magics["line"]
    for name in _CELL_MAGICS:
        line_magics[f"%{name}"] = _refusal(name)

    def unregister() -> None:
        for each in added:
            if each in transformations:
                transformations.remove(each)
        for name in _CELL_MAGICS:
            line_magics.pop(f"%{name}", None)

    return unregister


def _refusal(name: str) -> Callable[[str], NoReturn]:
    def refuse(line: str) -> NoReturn:
        """Raise an error that names the valid location of the magic."""
        raise UsageError(
            f"%%{name} must be the first line of its cell: what stands above it, "
            "comments too, belongs below it or into another cell"
        )

    return refuse
