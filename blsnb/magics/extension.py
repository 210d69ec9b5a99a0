"""``%load_ext blsnb`` and ``%unload_ext blsnb``: what is touched, and put back."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import Any

from blsnb.magics import cell_transforms as first_line
from blsnb.magics import completion, display, misplaced, reloads, show, triton_log
from blsnb.magics.cell_book import CellBook
from blsnb.magics.commands.subcommands import OperateMagics
from blsnb.magics.define import DefineMagics
from blsnb.magics.errors import report

_loaded: weakref.WeakKeyDictionary[Any, contextlib.ExitStack]
_loaded = weakref.WeakKeyDictionary()
"""Of each shell, what takes everything away again."""


def load_ipython_extension(shell: Any) -> None:
    """Add magics, displays, completion and reports to a shell; once is enough."""
    if shell in _loaded:
        return
    cells = CellBook(shell)
    reports = report.Report(shell, cells)
    runs = show.RunDisplay(live=getattr(shell, "kernel", None) is not None)
    define = DefineMagics(shell, cells, reports.failed)
    with contextlib.ExitStack() as undo:
        undo.callback(_register_magics(shell, define))
        shell.events.register("pre_run_cell", define.begin_cell)
        undo.callback(shell.events.unregister, "pre_run_cell", define.begin_cell)
        operate = OperateMagics(shell)
        undo.callback(_register_magics(shell, operate))
        undo.callback(operate.close)
        undo.callback(first_line.register(shell))
        undo.callback(misplaced.register(shell))
        undo.callback(completion.register(shell))
        undo.callback(display.register(shell, runs.shown))
        undo.callback(report.register(reports))
        undo.callback(show.register(shell, runs))
        undo.callback(triton_log.register())
        undo.callback(reloads.register(shell))
        _loaded[shell] = undo.pop_all()


def unload_ipython_extension(shell: Any) -> None:
    """Take away what was added; models and their server stay for who loads anew."""
    undo = _loaded.pop(shell, None)
    if undo is not None:
        undo.close()


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
    """Put back what had a name before, unless somebody has taken it since."""
    if table.get(name) == ours:
        del table[name]
        if earlier is not None:
            table[name] = earlier
