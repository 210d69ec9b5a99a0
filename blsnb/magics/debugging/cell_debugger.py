"""Breakpoints in cells that define models."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.clock.pausing_clock import CLOCK
from blsnb.debugger import process_debugger
from blsnb.debugger.process_debugger import (
    MappedLines,
    ProcessDebugger,
    Stop,
    UnknownDebugger,
)
from blsnb.engine.request.lifetime import Unwind
from blsnb.magics import default_server as default
from blsnb.magics.cell_book import CellBook, CellText
from blsnb.parts.server_parts import parts_of

if TYPE_CHECKING:
    from blsnb.debugger.source_map import SourceMap
    from blsnb.debugger.steps import DebuggerSteps

_log = logging.getLogger(__name__)
_UNKNOWN = (
    "Breakpoints in cells that define models do not stop: blsnb does not know this "
    "version of debugpy ({reason}). Install debugpy 1.8, or write breakpoint() into "
    "the model."
)


class CellDebugger:
    """Shows the attached debugger the cell of each model file."""

    def __init__(self, cells: CellBook) -> None:
        self._cells = cells
        self._opened: dict[str, MappedLines] = {}
        """Lines of files that are open in an editor, by the editor's source."""
        self._is_reported = False
        self.refusal = ""
        """Why breakpoints in models do not stop; empty if they do."""

    @cached_property
    def steps(self) -> DebuggerSteps:
        """Continues steps between models."""
        # Deferred: see `_apply`.
        from blsnb.debugger.steps import DebuggerSteps

        return DebuggerSteps()

    @cached_property
    def _map(self) -> SourceMap:
        # Deferred: see `_apply`.
        from blsnb.debugger.source_map import SourceMap

        return SourceMap()

    def begin_cell(self, *_: object) -> None:
        """Map the cells of all models, and report an unknown debugger once.

        A cell after Ctrl-C in a stopped thread is traced again.
        """
        self.synchronize(is_cell=True)
        if self.refusal and not self._is_reported:
            self._is_reported = True
            print(_UNKNOWN.format(reason=self.refusal), file=sys.stderr)

    def begin_load(self, path: Path, place: CellText) -> None:
        """Map a file before its model is loaded, so that `initialize` can stop."""
        self.synchronize({str(path): place})

    def note_opened(self, source: str, text: str) -> None:
        """Note a text with breakpoints, which may be a model's file in an editor."""
        file = _file_with(text) if text and Path(source).suffix == ".py" else ""
        if file and file != source:
            self._opened[source] = MappedLines(1, _count(text), file)
        else:
            self._opened.pop(source, None)

    def name_of(self, source: str) -> str:
        """Return the cell and the model of a source, such as ``"double, In[5]"``."""
        for path, place in self._cells.current().items():
            if place.source == source:
                return f"{_model_of(path)}, {place.cell}"
        return self._cells.name_of(source)

    def synchronize(
        self, loading: dict[str, CellText] | None = None, is_cell: bool = False
    ) -> None:
        """Map what is known, if a debugger has been attached.

        Parameters
        ----------
        loading
            Cells of files that are about to be loaded.
        is_cell
            Whether this thread is about to run a cell.
        """
        try:
            debugger = process_debugger.attached()
            if debugger is not None:
                self._apply(debugger, loading or {})
                if is_cell:
                    debugger.trace_again()
                self.refusal = ""
        except UnknownDebugger as error:
            self.refusal = str(error)

    def _apply(self, debugger: ProcessDebugger, loading: dict[str, CellText]) -> None:
        # Deferred: without a debugger nothing stops. Imported before a thread can stop,
        # and before the debugger is held: an import may wait for another thread.
        from blsnb.debugger.values import ValueParts, ValueText

        steps, mapped = self.steps, self._map
        with debugger.held() as is_held:
            if is_held:
                debugger.hide_package()
                debugger.show_values(ValueText(), ValueParts())
                debugger.on_stop(partial(self._stop, steps))
                mapped.apply(debugger, self._wanted(loading))

    def _stop(self, steps: DebuggerSteps, stop: Stop) -> None:
        """Wait in a stopped thread, and continue its step."""
        if stop.is_inside:
            # Ctrl-C must reach the model; this thread stops when it runs one again.
            return
        if steps.passes(stop.frame):
            stop.skip()
            return
        if steps.has_ended(stop):
            stop.drop()
            return
        self._try(lambda: steps.stopped(stop))
        CLOCK.pause()
        try:
            stop.wait()
        except BaseException as error:
            # Ctrl-C. The other threads stopped with this one, and continue with it.
            stop.end()
            # The model gets `Unwind` again; the debugger would print our frames of it.
            if not isinstance(error, Unwind):
                raise
        finally:
            CLOCK.resume()
        self._try(lambda: steps.resumed(stop.frame))

    def _try(self, do: Callable[[], None]) -> None:
        """Do something inside a stopped model, which must not fail with it."""
        try:
            do()
        except UnknownDebugger as error:
            self.refusal = str(error)
        except Exception:
            _log.exception("a step of the debugger could not be continued")

    def _wanted(
        self, loading: dict[str, CellText]
    ) -> dict[str, tuple[str, MappedLines]]:
        opened = {lines.file: (src, lines) for src, lines in self._opened.items()}
        places = {**self._cells.current(), **loading}
        return opened | {
            path: (place.source, lines_of(place, path))
            for path, place in places.items()
            if place.source
        }


def _model_of(path: str) -> str:
    """Return the model of a file, and the file's name unless it is ``model.py``."""
    file = Path(path)
    name = file.parent.parent.name
    return name if file.name == "model.py" else f"{name}/{file.name}"


def _file_with(text: str) -> str:
    """Return the Python file of an imported model that has a text; else empty."""
    server = default.started()
    if server is None:
        return ""
    repository = parts_of(server).repository
    content = text.encode()
    for root in repository.roots:
        for file in root.glob("*/*/**/*.py"):
            if file.stat().st_size == len(content) and file.read_bytes() == content:
                return str(file)
    return ""


def lines_of(place: CellText, path: str) -> MappedLines:
    """Return the lines of a cell that a file executes."""
    return MappedLines(1 + place.offset, _count(place.text), path)


def _count(text: str) -> int:
    return max(1, len(text.splitlines()))
