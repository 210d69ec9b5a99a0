"""Places of a cell's runs: outputs reserved when a run starts, and filled later."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Container
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle, display

from blsnb.magics.frontend import (
    bundle,
    collapsed,
    has_page,
    needs_displayed_widgets,
    note,
    trace_now,
)
from blsnb.printable import counted

if TYPE_CHECKING:
    from blsnb.trace.run_record import RunRecord
    from blsnb.trace.spans import Trace

MAX_PLACES = 12
"""Maximum number of runs shown of a cell; the last place is that of the newest run."""
_MAX_UNFOLDED = 3
"""Maximum number of runs shown unfolded; the others are folded to their title."""
_EMPTY = {"text/html": "", "text/plain": ""}


class OutputPlace:
    """The output of a run; empty until it is filled.

    Parameters
    ----------
    number
        Number of places before it in the cell.
    record
        Record of the run.
    is_reserved
        Whether the output exists immediately; otherwise it appears when filled.
    is_captured
        Whether a widget takes the output, where it cannot be updated.
    """

    def __init__(
        self,
        number: int,
        record: RunRecord,
        is_reserved: bool,
        is_captured: bool = False,
    ) -> None:
        self.record: RunRecord | None = record
        self.is_captured = is_captured
        self.takes_widgets = False
        """Whether a widget of the run can replace its document while it executes."""
        self.carries_code = is_captured or number == 0
        """Whether its document contains the code for all documents of the cell."""
        self._attempts = itertools.count(1)
        self._attempt = 0
        """Number of the last attempt to fill it."""
        self._is_folded = number >= _MAX_UNFOLDED
        self._filled: tuple[RunRecord, bool] | None = None
        self._handle: DisplayHandle | None = None
        if is_reserved:
            self._handle = display(_EMPTY, raw=True, display_id=True)

    def has(self, trace: Trace) -> bool:
        """Whether it is the place of a trace's run."""
        calls = self.record.calls[:1] if self.record else []
        is_same = bool(calls) and calls[0].request_start_ns == trace.start_ns
        return is_same and self.record is not None and self.record.id == trace.run_id

    def fill(self, record: RunRecord, **how: Any) -> None:
        """Show the document of a run that has ended.

        Parameters
        ----------
        record
            Record of the run; that of an earlier run is ignored.
        how
            Options of the document.
        """
        filled = record, self.carries_code
        if self.record is not record or self._filled == filled or not record.calls:
            return
        attempt = self._attempt = next(self._attempts)
        note(record)
        make = collapsed if self._is_folded else bundle
        document = make(trace_now(record), carries_code=filled[1], **how)
        # A later attempt on another thread has the newer document.
        if attempt == self._attempt:
            self.update(record, document, raw=True)
            self._filled = filled

    def refill(self, record: RunRecord) -> None:
        """Show the document again, after the record has changed."""
        self._filled = None
        self.fill(record)

    def update(self, record: RunRecord, shown: Any, **how: Any) -> None:
        """Show a widget, or a document of the run so far."""
        if self.record is not record:
            return
        if self._handle is None:
            display(shown, **how)
        else:
            self._handle.update(shown, **how)

    def empty(self) -> None:
        """Show nothing from now on."""
        if self._filled and self._handle is not None:
            self._handle.update(_EMPTY, raw=True)
        self.record = None


class CellPlaces:
    """The places of the runs of one cell, in the order in which the runs start.

    Parameters
    ----------
    are_reserved
        Whether outputs can be updated, so that places are reserved.
    """

    def __init__(self, are_reserved: bool) -> None:
        self._are_reserved = are_reserved
        # A program that executes notebooks would keep the state of each widget.
        self._has_widgets = needs_displayed_widgets() or has_page(get_ipython())
        self._publisher = _publisher()
        self._numbers = itertools.count()
        self._places: dict[int, OutputPlace] = {}
        self._begun_ns = time.monotonic_ns()
        self._silent: set[str] = set()
        self.left_out = 0
        """Number of runs without a place."""

    def reserve(self, record: RunRecord) -> OutputPlace | None:
        """Return the place of a run that starts; None if its output is captured."""
        if _publisher() is not self._publisher:
            return None
        if _is_captured():
            return OutputPlace(0, record, is_reserved=False, is_captured=True)
        number = next(self._numbers)
        last = self._places.get(MAX_PLACES - 1)
        if number < MAX_PLACES or last is None:
            place = OutputPlace(number, record, self._are_reserved)
            place.takes_widgets = self._has_widgets
            self._places[number] = place
            return place
        self.left_out += 1
        last.record = record
        return last

    def silence(self, record: RunRecord) -> None:
        """Note a run that starts while displays are off."""
        self._silent.add(record.id)

    def is_silent(self, trace: Trace) -> bool:
        """Whether a run of this cell started while displays were off."""
        return trace.run_id in self._silent and trace.start_ns >= self._begun_ns

    def clear(self) -> None:
        """Forget the places, whose outputs have been cleared."""
        places, self._places = self._places, {}
        self._numbers = itertools.count()
        self.left_out = 0
        for place in places.values():
            place.record = None

    def of(self, trace: Trace) -> OutputPlace | None:
        """Return the place of a trace's run."""
        return next((each for each in self._places.values() if each.has(trace)), None)

    def fill_ended(self, active: Container[str] = ()) -> None:
        """Show the runs that have ended and are not shown.

        Parameters
        ----------
        active
            Ids of runs that are shown by others.
        """
        for _, place in sorted(self._places.items()):
            record = place.record
            if record and record.ended and record.id not in active:
                place.fill(record)

    def fill(self) -> None:
        """Show the runs of a cell that ends; the first one contains the code."""
        found = [place for _, place in sorted(self._places.items())]
        shown = [place for place in found if place.record and place.record.calls]
        for place in shown:
            place.carries_code = place is shown[0]
        self.fill_ended()
        if self.left_out:
            verb = "is" if self.left_out == 1 else "are"
            runs = f"{counted(self.left_out, 'run')} before the last {verb} not shown"
            display({"text/plain": f"… {runs}"}, raw=True)


def _is_captured() -> bool:
    """Return whether a widget takes what is displayed now, as in ``with Output():``."""
    widgets = sys.modules.get("ipywidgets")
    kernel = getattr(get_ipython(), "kernel", None)
    if widgets is None or kernel is None:
        return False
    request = kernel.get_parent().get("header", {}).get("msg_id")
    known = list(widgets.widgets.widget._instances.values())
    outputs = (each for each in known if isinstance(each, widgets.Output))
    return any(each.msg_id == request for each in outputs if each.msg_id)


def _publisher() -> Any:
    shell = get_ipython()
    return None if shell is None else shell.display_pub
