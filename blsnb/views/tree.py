"""The run as indented text: for a terminal, a PDF, a diff."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Trace
from blsnb.views import batches
from blsnb.views.columns import columns_of
from blsnb.views.folded import OnlyCounted, left_out
from blsnb.views.format import TIMES, counted, time, visible
from blsnb.views.pictures.snapshot import heading, summary
from blsnb.views.rows import Row, distinct_names, rows

_MARKED = ("stand-in",)
"""Kinds that are no models, though they answer for one."""
_MOST_LINES = 200
_MOST_NAME = 80
_MOST_ERROR = 160
_MOST_NOTES = 3
_MOST_NOTE = 240


def tree(trace: Trace) -> str:
    """Return a line per model and level: name, calls, time, failures; and notes."""
    columns = columns_of(trace)
    durations = columns.duration_us
    failed = columns.has(CallFlag.ERROR)
    names = [
        _short(name, _MOST_NAME) + (f" ({model.kind})" if model.kind in _MARKED else "")
        for name, model in zip(distinct_names(trace), trace.models, strict=True)
    ]

    only_counted = OnlyCounted(trace)

    def lines(row: Row) -> list[str]:
        calls = list(row.calls)
        indent = "  " * (row.depth + 1)
        gone = only_counted.beside(calls)
        number = len(calls) + (gone.calls if gone else 0)
        times = f" {TIMES}{number:,}" if number > 1 else ""
        took = float(durations[calls].sum()) + (gone.duration_ns / 1000 if gone else 0)
        words = [f"{names[row.model]}{times}", time(took)]
        words += [f"{len(calls):,} kept"] if gone else []
        together = batches.batches(trace, calls)
        words += [together] if together else []
        below = _notes(trace, calls)
        apart = batches.left_out(trace, calls)
        below += [f"~ {apart}"] if apart else []
        errors = [call for call in calls if failed[call]]
        if errors:
            failures = len(errors) + (gone.errors if gone else 0)
            words.append(f"{failures:,} failed")
            below.insert(0, f"! {_error(trace, errors[0])}")
        return [indent + "  ".join(words), *(f"{indent}  {line}" for line in below)]

    found = itertools.chain.from_iterable(map(lines, rows(trace, fold_from=2)))
    shown = list(itertools.islice(found, _MOST_LINES))
    more = sum(1 for _ in found)
    if more:
        shown.append(f"  … {counted(more, 'more line')}")
    title = f"{visible(heading(trace))}: {', '.join(summary(trace, columns))}"
    notes = [f"  … {visible(note)}" for note in left_out(trace)]
    remarks = [f"  · {visible(remark)}" for remark in trace.remarks]
    return "\n".join([title, *shown, *notes, *remarks])


def _notes(trace: Trace, calls: Sequence[int]) -> list[str]:
    """Return the first notes of a row's calls, each once, and how many are left."""
    texts = dict.fromkeys(n for call in calls for n in trace.spans[call].notes)
    begun = (text[: _MOST_NOTE + 1] for text in texts)
    lines = ("; ".join(map(str.strip, text.splitlines())) for text in begun)
    first = itertools.islice(lines, _MOST_NOTES)
    shown = [f"* {_short(text, _MOST_NOTE)}" for text in first]
    left_out = len(texts) - len(shown)
    return [*shown, f"* … {counted(left_out, 'more note')}"] if left_out else shown


def _error(trace: Trace, call: int) -> str:
    text = trace.spans[call].error.strip()
    return _short(text.splitlines()[0] if text else "failed", _MOST_ERROR)


def _short(text: str, most: int) -> str:
    line = visible(text[:most])
    if len(text) > most:
        line += "…"
    return line if len(line) <= most else line[: most - 1] + "…"
