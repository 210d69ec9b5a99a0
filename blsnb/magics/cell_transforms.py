"""``%triton_model`` as the first line of an ordinary cell: an input transformation."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_FIRST = re.compile(r"(?P<above>\s*)%triton_model(?!\w)(?P<line>[^\n?]*)\n")


def source_below(cell: str) -> str | None:
    """Return a cell's text below its first line; None if that is no ``%triton_model``.

    As with the cell magic, blank lines above do not count, and the last line ends.
    """
    found = _FIRST.match(cell)
    text = cell[found.end() :] if found else ""
    if not text.strip():
        return None
    return text if text.endswith("\n") else f"{text}\n"


def move_to_the_end(lines: list[str]) -> list[str]:
    """Let a cell that begins with ``%triton_model`` run before it becomes a model.

    The first line stays, as a comment, so that all others keep their numbers.
    """
    cell = "".join(lines)
    below = source_below(cell)
    found = _FIRST.match(cell)
    if below is None or found is None:
        return lines
    line = found["line"].strip()
    call = f"get_ipython().run_line_magic('triton_model', {line!r})\n"
    text = f"{found['above']}# %triton_model {line}\n{below}{call}"
    return text.splitlines(keepends=True)


def register(shell: Any) -> Callable[[], None]:
    """Add the transformation to a shell; return what takes it away."""
    transformations = shell.input_transformers_cleanup
    transformations.append(move_to_the_end)

    def unregister() -> None:
        if move_to_the_end in transformations:
            transformations.remove(move_to_the_end)

    return unregister
