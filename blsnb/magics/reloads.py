"""Models whose files an editor changed are loaded anew before a cell runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from IPython.display import display

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.options import options
from blsnb.parts.server_parts import parts_of


def load_changed(*_: Any) -> None:
    """Load what changed in the private folder, and show a card of each."""
    server = default.started()
    if server is None or server.closed:
        return
    for name, error in parts_of(server).folders.load_changed().items():
        reason = error.reason.strip() if error is not None else ""
        failure = f"its changed files do not load: {reason}" if error else ""
        if options.show or failure:
            display(card.bundle(server.model(name), failure), raw=True)


def register(shell: Any) -> Callable[[], None]:
    """Begin to look before each cell; return what ends that."""
    shell.events.register("pre_run_cell", load_changed)
    return lambda: shell.events.unregister("pre_run_cell", load_changed)
