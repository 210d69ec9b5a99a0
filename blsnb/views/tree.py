"""The run as indented text: for a terminal, a PDF, a diff."""

from __future__ import annotations

import itertools

from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Trace
from blsnb.views.columns import columns_of
from blsnb.views.folded import folded_note
from blsnb.views.format import TIMES, counted, time, visible
from blsnb.views.rows import Row, distinct_names, rows
from blsnb.views.snapshot import heading, summary

_MOST_LINES = 200
_MOST_NAME = 80
_MOST_ERROR = 160


def tree(trace: Trace) -> str:
    """Return a line per model and level: name, calls, total time, failures."""
    columns = columns_of(trace)
    durations = columns.duration_us
    failed = columns.has(CallFlag.ERROR)
    names = [_short(name, _MOST_NAME) for name in distinct_names(trace)]

    def lines(row: Row) -> list[str]:
        calls = list(row.calls)
        indent = "  " * (row.depth + 1)
        times = f" {TIMES}{len(calls):,}" if len(calls) > 1 else ""
        words = [f"{names[row.model]}{times}", time(float(durations[calls].sum()))]
        errors = [call for call in calls if failed[call]]
        if not errors:
            return [indent + "  ".join(words)]
        words.append(f"{len(errors):,} failed")
        return [indent + "  ".join(words), f"{indent}  ! {_error(trace, errors[0])}"]

    found = itertools.chain.from_iterable(map(lines, rows(trace, fold_from=2)))
    shown = list(itertools.islice(found, _MOST_LINES))
    left_out = sum(1 for _ in found)
    if left_out:
        shown.append(f"  … {counted(left_out, 'more line')}")
    title = f"{visible(heading(trace))}: {', '.join(summary(trace, columns))}"
    return "\n".join([title, *shown, *map(_folded, folded_note(trace))])


def _folded(note: str) -> str:
    return f"  … {visible(note)}"


def _error(trace: Trace, call: int) -> str:
    text = trace.spans[call].error.strip()
    return _short(text.splitlines()[0] if text else "failed", _MOST_ERROR)


def _short(text: str, most: int) -> str:
    line = visible(text)
    return line if len(line) <= most else line[: most - 1] + "…"
