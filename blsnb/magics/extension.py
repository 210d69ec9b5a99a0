"""``%load_ext blsnb`` and ``%unload_ext blsnb``: what is touched, and put back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from blsnb.magics import completion, display, first_line, report, show, triton_log
from blsnb.magics.cells import CellBook
from blsnb.magics.define import DefineMagics
from blsnb.magics.operate import OperateMagics


class TritonMagics(DefineMagics, OperateMagics):
    """All our magics; knows how to take everything away that was registered.

    Parameters
    ----------
    undo
        What was registered with the shell.
    """

    def __init__(self, shell: Any, undo: contextlib.ExitStack) -> None:
        cells = CellBook(shell)
        reports = report.Report(shell, cells)
        super().__init__(shell, cells, reports.failed)
        self.undo = undo
        self.reports = reports
"""
