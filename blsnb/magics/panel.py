"""The panel beside the notebook: its comm target, and what the notebook gives to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blsnb.panel.host import Host
    from blsnb.panel.panel import Panel

TARGET = "blsnb"
"""Name of the comms of the panel."""


def connect(shell: Any) -> Callable[[], None]:
    """Let pages with the panel connect to the kernel, until the returned call."""
    if getattr(shell, "kernel", None) is None:
        return lambda: None
    target = CommTarget(partial(_host, shell.starting_dir))
    target.open()
    return target.close


def _host(folder: str) -> Host:
    from blsnb.magics import default_server, frontend
    from blsnb.magics.imported import model_cells
    from blsnb.panel.host import Host

    return Host(
        default_server.started,
        model_cells.cells_of,
        lambda subcommand, name: f"%triton {subcommand} {model_cells.word(name)}",
        partial(frontend.note_run, in_page=True),
        frontend.debug,
        frontend.on_main_thread,
        frontend.call_interruptibly,
        folder,
    )


class CommTarget:
    """Accepts the comms that pages open; cheap, since few kernels are watched.

    Parameters
    ----------
    host
        Makes the panel's view of the kernel; called when the first page connects.
    """

    def __init__(self, host: Callable[[], Host]) -> None:
        self._host = host
        self._panel: Panel | None = None
        self._announced: Any = None
        self._manager: Any = None

    def open(self) -> None:
        """Register the target, and let pages find out that they may open a comm."""
        # Deferred: a terminal has no comms.
        import comm

        manager = self._manager = comm.get_comm_manager()
        manager.register_target(TARGET, self._accept)
        # Pages list the kernel's comms. This one is never opened in a page: a page
        # without the panel would report an unknown target.
        self._announced = comm.create_comm(target_name=TARGET, primary=False)
        manager.register_comm(self._announced)

    def close(self) -> None:
        """Close the comms of all pages."""
        self._manager.unregister_target(TARGET, self._accept)
        self._manager.unregister_comm(self._announced)
        if self._panel is not None:
            self._panel.close()

    def _accept(self, opened: Any, message: Any) -> None:
        if self._panel is None:
            # Deferred: loading the extension must not import the server.
            from blsnb.panel.panel import Panel

            self._panel = Panel(self._host())
        self._panel.accept(opened, message["content"]["data"])
