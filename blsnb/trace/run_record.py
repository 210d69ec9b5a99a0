"""The calls of one client request, and what limits have dropped of them."""

from __future__ import annotations

import itertools
import operator
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from blsnb.trace.events import Call, TraceLevel
from blsnb.trace.responses import ResponseLog

if TYPE_CHECKING:
    from blsnb.trace.facts import Profile, TraceContext
    from blsnb.trace.folding import FoldedCounts
    from blsnb.trace.gaps import Gaps
    from blsnb.trace.spans import Trace

_RUN_RESPONSES = 5000
"""Maximum number of kept responses of ended calls of a run; later calls keep few."""
_FEW_RESPONSES = 8
_ID = operator.attrgetter("id")


@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class RunRecord:
    """The calls of one client request, with all calls that it caused."""

    id: str
    level: TraceLevel | None = None
    """Level of a run that is not kept, and not reported to observers; else None."""
    of_client: bool = False
    """Whether a network client sent it, so that only this record has its response."""
    is_hidden: bool = False
    """Whether the caller turned its display off."""
    is_displayed: bool = False
    """Whether a notebook has displayed it; such runs are kept longer."""
    cell: str = ""
    """The cell that started it, such as ``"In[3]"``."""
    call_ids: Iterator[int] = field(default_factory=itertools.count)
    """Source of the ids of its calls."""
    calls: list[Call] = field(default_factory=list)
    """The calls kept one by one, in the order in which they started."""
    gaps: Gaps | None = None
    """Positions of the folded calls; None if no call is folded."""
    fold_at: int = sys.maxsize
    """Number of calls at which folding begins."""
    strip_at: int = sys.maxsize
    """Number of held bytes above which values are dropped."""
    held: deque[Call] = field(default_factory=deque)
    """The calls that have values, in the order in which they ended."""
    held_bytes: int = 0
    pinned: bool = False
    open_streams: int = 0
    """Number of calls that may still have responses."""
    response_count: int = 0
    """Number of responses of ended calls that are kept one by one."""
    keep_calls: tuple[int, int] | None = None
    """The limit that may have dropped calls, and the highest id at that time."""
    budget_bytes: int | None = None
    """The limit that may have dropped values."""
    ended: bool = False
    going_on: int = 0
    """Number of its executions that continue after its request has ended."""
    context: TraceContext | None = None
    """The OpenTelemetry context that the client sent, or that of an exported run."""
    is_exported: bool = False
    """Whether it is sent to an OpenTelemetry Collector when it has ended."""
    profiles: tuple[Profile, ...] = ()
    profiler: Callable[[], Profile] | None = None
    """Returns the samples so far, while the run is sampled; else None."""
    taken: tuple[bool, Trace] | None = None
    """The trace of the ended run, once taken, and whether it has notes; discarded
    by `changed`."""
    revision: object = None
    """Another object after each change of the ended run."""
    _folded: FoldedCounts | None = None

    @property
    def folded(self) -> FoldedCounts:
        """The counts of the calls that are not kept one by one."""
        if self._folded is None:
            # Deferred: few runs have folded calls.
            from blsnb.trace.folding import FoldedCounts

            self._folded = FoldedCounts()
        return self._folded

    def changed(self) -> None:
        """Note that the ended run has changed: its trace has to be taken again."""
        # In this order, so that a thread that keeps a trace now discards it itself.
        self.revision = object()
        self.taken = None

    def hold(self, call: Call) -> None:
        """Count the values of an ended call; takes no lock."""
        self.held_bytes += held_bytes(call)
        self.held.append(call)

    def count_responses(self, responses: ResponseLog) -> None:
        """Count the responses of an ended call; shorten them if the run has many."""
        self.open_streams -= 1
        if self.response_count > _RUN_RESPONSES:
            responses.shrink(_FEW_RESPONSES)
        self.response_count += len(responses)
        self.held_bytes += responses.held_bytes

    def drop_oldest_values(self, budget_bytes: int) -> None:
        """Drop the values of the call that ended first.

        Parameters
        ----------
        budget_bytes
            The limit that requires it.
        """
        call = self.held.popleft()
        self.held_bytes -= held_bytes(call)
        call.inputs = tuple(ref.without_data() for ref in call.inputs)
        call.outputs = tuple(ref.without_data() for ref in call.outputs)
        if call.responses is not None:
            call.responses.drop_values()
        self.budget_bytes = budget_bytes
        self.changed()

    def fold(self, room: int, keep_calls: int) -> None:
        """Count calls instead of keeping them, until about ``room`` remain.

        Parameters
        ----------
        keep_calls
            The limit that requires it.
        """
        # Deferred: few runs have folded calls.
        from blsnb.trace.folding import fold
        from blsnb.trace.gaps import Gaps

        before = list(self.calls)
        # Set first, so that a reader that misses a call finds the reason.
        self.keep_calls = keep_calls, max(map(_ID, before))
        leaving = fold(self.calls, room)
        self.fold_at = len(before) - len(leaving)
        gone = set(leaving)
        self.folded.add(leaving)
        self.gaps = self.gaps or Gaps()
        self.gaps.open(before, gone)
        for _ in range(len(self.held)):
            call = self.held.popleft()
            if call in gone:
                self.held_bytes -= held_bytes(call)
            else:
                self.held.append(call)
        self.changed()


def held_bytes(call: Call) -> int:
    """Return the number of bytes of the values that a call keeps."""
    held = 0 if call.responses is None else call.responses.held_bytes
    for ref in call.inputs + call.outputs:
        if not ref.evicted:
            held += ref.byte_size
    return held
