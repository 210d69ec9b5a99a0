"""``%triton_model`` as the first line of an ordinary cell: an input transformation."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_FIRST = re.compile(r"%triton_model(?!\w)(?P<line>[^\n?]*)\Z")


def move_to_the_end(lines: list[str]) -> list[str]:
    """Let a cell that begins with ``%triton_model`` run, and then become a model.

    The first line stays, empty, so that all others keep their numbers; a call of
    the cell magic with the text below it comes after the last one.
    """
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    found = None if first is None else _FIRST.match(lines[first].rstrip("\n"))
    if first is None or found is None:
        return lines
    text = "".join(lines[first + 1 :])
    if not text.strip():
        return lines
    text = text if text.endswith("\n") else f"{text}\n"
    call = (
        "get_ipython().run_cell_magic("
        f"'triton_model', {found['line'].strip()!r}, {text!r})\n"
    )
    return [*lines[:first], "\n", *text.splitlines(keepends=True), call]


def register(shell: Any) -> Callable[[], None]:
    """Add the transformation to a shell; return what takes it away."""
    transformations = shell.input_transformers_cleanup
    # First: the others would drop blank lines, and so shift the numbers.
    transformations.insert(0, move_to_the_end)

    def unregister() -> None:
        if move_to_the_end in transformations:
            transformations.remove(move_to_the_end)

    return unregister
