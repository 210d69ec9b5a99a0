"""Cell magics below the first line of a cell: IPython takes each for a line magic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from IPython.core.error import UsageError

_NAMES = ("triton_model", "triton_config", "triton_file")


def register(shell: Any) -> Callable[[], None]:
    """Have a misplaced cell magic say where it belongs; return what takes that away.

    IPython would say that there is no such line magic, though the cell magic is there.
    """
    table = shell.magics_manager.magics["line"]
    for name in _NAMES:
        table[f"%{name}"] = _refusal(name)

    def unregister() -> None:
        for name in _NAMES:
            table.pop(f"%{name}", None)

    return unregister


def _refusal(name: str) -> Callable[[str], NoReturn]:
    def refuse(line: str) -> NoReturn:
        """Say where the magic belongs."""
        raise UsageError(
            f"%%{name} must be the first line of its cell: what stands above it, "
            "comments too, belongs below it or into another cell"
        )

    return refuse
