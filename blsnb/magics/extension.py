"""``%load_ext blsnb`` and ``%unload_ext blsnb``."""

from __future__ import annotations

import contextlib
import logging
import sys
import weakref
from collections.abc import Callable
from typing import Any

from blsnb.debugger import adapter_guard
from blsnb.evaluation.progress import displays
from blsnb.magics import cell_transforms, display, frontend, panel
from blsnb.magics.cell_book import CellBook
from blsnb.magics.commands.subcommands import TritonMagics
from blsnb.magics.completion import matchers
from blsnb.magics.debugging import cell_debugger, kernel_requests
from blsnb.magics.define import DefineMagics
from blsnb.magics.errors import breakpoints, report
from blsnb.magics.imported.saved_files import load_saved
from blsnb.magics.runs import show

_loaded: weakref.WeakKeyDictionary[Any, contextlib.ExitStack]
_loaded = weakref.WeakKeyDictionary()
"""Functions that undo the changes to each shell."""
_MODEL_LOGGER = "blsnb.model"


def load_ipython_extension(shell: Any) -> None:
    """Add magics, displays, completion and error reports to a shell, once."""
    if shell in _loaded:
        return
    cells = CellBook(shell)
    reports = report.Report(shell, cells)
    runs = show.RunDisplay(
        getattr(shell, "kernel", None) is not None,
        cells.running_cell,
        cells.beginning_cell,
    )
    debugger = cell_debugger.CellDebugger(cells)
    define = DefineMagics(shell, cells, reports.failed, debugger.begin_load)
    with contextlib.ExitStack() as undo:
        undo.callback(_register_magics(shell, define))
        undo.callback(_before_cells(shell, define.begin_cell))
        triton = TritonMagics(shell)
        undo.callback(_register_magics(shell, triton))
        undo.callback(triton.close)
        undo.callback(cell_transforms.register(shell))
        undo.callback(matchers.register(shell))
        undo.callback(frontend.connect(shell, debugger.synchronize))
        undo.callback(panel.connect(shell))
        undo.callback(display.register(shell, runs))
        undo.callback(report.register(reports))
        undo.callback(show.register(shell, runs))
        passed_over = breakpoints.Breakpoints(cells.place_of)
        undo.callback(passed_over.restore)
        undo.callback(_before_cells(shell, passed_over.begin_cell))
        undo.callback(_before_cells(shell, debugger.begin_cell))
        undo.callback(kernel_requests.register(shell, debugger))
        undo.callback(adapter_guard.register(shell))
        undo.callback(_log_to_stderr())
        undo.callback(_show_progress(shell))
        undo.callback(_before_cells(shell, load_saved))
        _loaded[shell] = undo.pop_all()


def unload_ipython_extension(shell: Any) -> None:
    """Remove what the extension added; the server and its models stay."""
    undo = _loaded.pop(shell, None)
    if undo is not None:
        undo.close()


def _before_cells(shell: Any, begin: Callable[..., None]) -> Callable[[], None]:
    """Call a function at the start of each cell; return a function that ends it."""
    shell.events.register("pre_run_cell", begin)
    return lambda: shell.events.unregister("pre_run_cell", begin)


def _show_progress(shell: Any) -> Callable[[], None]:
    """Show the progress of evaluations as bars, if the shell is that of a notebook."""
    earlier = displays.make
    if getattr(shell, "kernel", None) is not None:
        displays.make = frontend.ProgressBar

    def undo() -> None:
        displays.make = earlier

    return undo


def _register_magics(shell: Any, magics: Any) -> Callable[[], None]:
    manager = shell.magics_manager
    ours = {kind: dict(magics.magics[kind]) for kind in magics.magics}
    earlier = {kind: dict(manager.magics[kind]) for kind in ours}
    shell.register_magics(magics)

    def unregister() -> None:
        for kind, table in ours.items():
            for name, magic in table.items():
                _restore(manager.magics[kind], name, magic, earlier[kind].get(name))
        manager.registry.pop(type(magics).__name__, None)
        if magics in shell.configurables:
            shell.configurables.remove(magics)

    return unregister


def _restore(table: dict[str, Any], name: str, ours: Any, earlier: Any) -> None:
    """Restore an earlier magic, unless blsnb's has been replaced since."""
    if table.get(name) == ours:
        del table[name]
        if earlier is not None:
            table[name] = earlier


class _StderrHandler(logging.Handler):
    """Writes warnings and errors of models to the stderr of the running cell."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line; stderr is looked up each time, as cells may redirect it."""
        try:
            if self.formatter is None:
                from blsnb.serving.server_log import TritonFormatter

                self.setFormatter(TritonFormatter())
            sys.stderr.write(f"{self.format(record)}\n")
        except Exception:
            self.handleError(record)


def _log_to_stderr() -> Callable[[], None]:
    logger = logging.getLogger(_MODEL_LOGGER)
    handler = _StderrHandler()
    logger.addHandler(handler)
    return lambda: logger.removeHandler(handler)
