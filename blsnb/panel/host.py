"""What the notebook gives to the panel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blsnb.inference_server import Server
from blsnb.parts.server_parts import ServerParts, parts_of
from blsnb.views.live.answers import Work
from blsnb.views.live.queries import QueryError

if TYPE_CHECKING:
    from blsnb.repository.directory import ModelDirectory
    from blsnb.results.run import Run


@dataclass(frozen=True, slots=True)
class Host:
    """The kernel's server, and what only the room of magics knows.

    Parameters
    ----------
    started
        Returns the default server; None before it is made.
    cells_of
        Returns a model's files as the texts of cells.
    line
        Returns the ``%triton`` line of a subcommand about a model.
    connect_run
        Connects a run that a page displays to the kernel.
    debug
        Executes the call of a page id and a call id again, in the debugger, and
        returns a sentence; or raises `QueryError`.
    on_main_thread
        Calls a function on the thread that may execute calls in the debugger.
    interruptibly
        Calls a function so that Ctrl-C ends it; while a cell runs with the second one.
    folder
        Folder in which Jupyter started the kernel: that of the notebook.
    """

    started: Callable[[], Server | None]
    cells_of: Callable[[ModelDirectory], list[str]]
    line: Callable[[str, str], str]
    connect_run: Callable[[Run], None]
    debug: Callable[[str, int], str]
    on_main_thread: Work
    interruptibly: Callable[[Callable[[], None], Work], None]
    folder: str

    def parts(self) -> ServerParts | None:
        """Return the parts of the default server if it is open."""
        server = self.started()
        return None if server is None or server.closed else parts_of(server)

    def server(self) -> Server:
        """Return the default server.

        Raises
        ------
        QueryError
            It has not been made, or is closed.
        """
        server = self.started()
        if server is None or server.closed:
            raise QueryError("gone", "this kernel has no server: define a model first")
        return server
