"""What the notebook gives to the panel beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blsnb.panel.host import Host


def connect(shell: Any, subcommands: Collection[str]) -> Callable[[], None]:
    """Let pages with the panel connect to the kernel, until the returned call."""
    if getattr(shell, "kernel", None) is None:
        return _nothing
    from blsnb.panel.target import Target

    target = Target(partial(_host, "try" in subcommands))
    target.open()
    return target.close


def _nothing() -> None:
    """Leave a terminal as it is."""


def _host(has_forms: bool) -> Host:
    from blsnb.magics import default_server, frontend
    from blsnb.magics.imported import model_cells
    from blsnb.panel.host import Host

    return Host(
        default_server.started,
        model_cells.cells_of,
        lambda subcommand, name: f"%triton {subcommand} {model_cells.word(name)}",
        partial(frontend.note_run, in_page=True),
        has_forms,
    )
