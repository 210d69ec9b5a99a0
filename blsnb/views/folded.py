"""Calls that a trace only counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from blsnb.printable import counted
from blsnb.trace.dropped import notices
from blsnb.trace.folding import FoldedCalls, Pair
from blsnb.trace.spans import Trace
from blsnb.views.format import TIMES, time

_MAX_PAIRS = 5


def folded_note(trace: Trace) -> list[str]:
    """Return a line on the calls that are only counted, if there are any."""
    if not trace.folded:
        return []
    largest = sorted(trace.folded, key=lambda folded: -folded.calls)
    pairs = [
        f"{_arrow(folded.caller and folded.caller.name, folded.model.name)} "
        f"{TIMES}{folded.calls:,} in {time(folded.duration_ns / 1000)}"
        for folded in largest[:_MAX_PAIRS]
    ]
    if len(largest) > _MAX_PAIRS:
        pairs.append(counted(len(largest) - _MAX_PAIRS, "further kind"))
    return [
        f"folded from {counted(trace.call_count, 'call')}: {len(trace.spans):,} "
        f"shown one by one (the first, the last, failed and slowest ones), the others "
        f"counted: {'; '.join(pairs)}"
    ]


def left_out(trace: Trace) -> list[str]:
    """Return lines about the calls and values that a trace no longer keeps."""
    return [*folded_note(trace), *notices(trace)]


class OnlyCounted:
    """Finds the counted calls that belong to the calls of a row."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._kept = _counts(trace) if trace.folded else Counter[Pair]()
        self._counted = {(each.caller, each.model): each for each in trace.folded}

    def beside(self, calls: Sequence[int]) -> FoldedCalls | None:
        """Return the counted calls of the same model and caller as a row's calls.

        None without such calls, or if they may belong to another row.
        """
        if not self._counted or not calls:
            return None
        pair = _pair(self._trace, calls[0])
        return self._counted.get(pair) if self._kept[pair] == len(calls) else None

    def more_like(self, call: int) -> bool:
        """Whether further calls of the same model and caller are only counted."""
        return bool(self._counted) and _pair(self._trace, call) in self._counted

    def stretch(self, calls: Sequence[int]) -> tuple[float, float] | None:
        """Return start and end of the counted calls in microseconds, if known."""
        beside = self.beside(calls)
        if beside is None or not beside.last_ns:
            return None
        start_ns = self._trace.start_ns
        return (beside.first_ns - start_ns) / 1000, (beside.last_ns - start_ns) / 1000


def _counts(trace: Trace) -> Counter[Pair]:
    """Return the number of kept calls of each caller's model and model."""
    model_of = trace.column("model")
    callers = [-1 if at < 0 else model_of[at] for at in trace.column("parent")]
    found: Counter[Pair] = Counter()
    for (caller, model), calls in Counter(zip(callers, model_of, strict=True)).items():
        above = None if caller < 0 else trace.models[caller]
        found[above, trace.models[model]] += calls
    return found


def _pair(trace: Trace, row: int) -> Pair:
    models, parent = trace.column("model"), trace.column("parent")[row]
    caller = None if parent < 0 else trace.models[models[parent]]
    return caller, trace.models[models[row]]


def _arrow(caller: str | None, model: str) -> str:
    return model if caller is None else f"{caller} → {model}"
