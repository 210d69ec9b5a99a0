"""Exact times of the lines of one call, beside their source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from blsnb.errors import TraceError
from blsnb.printable import counted, printable
from blsnb.trace.facts import Profile
from blsnb.trace.spans import Span, Trace

KIND = "lines"
"""Kind of the profile in a run file."""
_MAX_LINE = 100_000
"""Limit of line numbers: all lines up to the last one are shown."""
_MAX_SOURCE = 256 << 10
"""Maximum number of characters of a file that is kept."""
_BESIDE = 2
"""Number of lines that are shown beside executed ones; others are left out."""
_MODEL = "model.py"
_HEAD = f"{'hits':>9} {'time':>12} {'in calls':>12}"


class LineHits(NamedTuple):
    """A line, how often it was executed, and for how long."""

    line: int
    hits: int
    ns: int


class FileLines(NamedTuple):
    """The executed lines of one file."""

    file: str
    """Name of the file without its folder."""
    source: str
    lines: tuple[LineHits, ...]


class TimedLine(NamedTuple):
    """A line of a model with its times."""

    file: str
    line: int
    place: str
    """The cell and its line, such as ``"In[3] line 7"``; else file and line."""
    hits: int
    ms: float
    """Milliseconds in the line and in the functions that it called, without child
    calls."""
    calls_ms: float
    """Milliseconds of the child calls that the line made."""
    text: str


class LineProfile:
    """The source of one call with hits and time of each line; print it to read it.

    Parameters
    ----------
    trace
        The run.
    call
        Id of the call.
    files
        The files of its model that were executed.
    """

    def __init__(self, trace: Trace, call: int, files: Iterable[FileLines]) -> None:
        self._trace = trace
        self.call = call
        self.files = tuple(sorted(files, key=lambda each: each.file != _MODEL))
        self._span = trace.spans[trace.row_of(call)]

    def __repr__(self) -> str:
        model = self._trace.models[self._span.model].name
        lines = counted(sum([len(each.lines) for each in self.files]), "line")
        return printable(f"<LineProfile of call {self.call} ({model}): {lines}>")

    def lines(self) -> list[TimedLine]:
        """Return the executed lines, in the order of their files."""
        return [line for each in self.files for line in self._timed(each) if line.hits]

    def shown(self) -> Iterator[tuple[str, list[TimedLine | None]]]:
        """Yield each file's name and its lines near executed ones.

        None stands for lines that are left out.
        """
        for each in self.files:
            yield each.file, _near_executed(list(self._timed(each)))

    def __str__(self) -> str:
        """Return the source with hits and times, without parts that did not run."""
        text = []
        for file, lines in self.shown():
            text += [file, _HEAD, *map(_row, lines)]
        return "\n".join([printable(line) for line in text])

    def _timed(self, file: FileLines) -> Iterator[TimedLine]:
        info = self._trace.models[self._span.model]
        is_model = file.file == _MODEL
        source = info.source if is_model else file.source
        # `splitlines` would also end lines at form feeds, which Python does not count.
        texts = source.removesuffix("\n").split("\n")
        hits = {each.line: each for each in file.lines}
        calls = self._calls() if is_model else {}
        for line in range(1, max([len(texts), *hits]) + 1):
            found = hits.get(line, LineHits(line, 0, 0))
            place = info.place(line) if is_model else f"{file.file}:{line}"
            text = texts[line - 1] if line <= len(texts) else ""
            ms, calls_ms = found.ns / 1e6, calls.get(line, 0) / 1e6
            yield TimedLine(file.file, line, place, found.hits, ms, calls_ms, text)

    def _calls(self) -> dict[int, int]:
        """Return the time that child calls cover, by the line that made them."""
        by_line: dict[int, list[Span]] = {}
        for row in self._trace.children[self._span.index]:
            span = self._trace.spans[row]
            by_line.setdefault(span.line, []).append(span)
        return {line: _covered(spans) for line, spans in by_line.items()}


def lines_of(trace: Trace) -> LineProfile | None:
    """Return the timed lines of a run; None if it has none.

    Raises
    ------
    TraceError
        They are damaged.
    """
    found = [each for each in trace.profiles if each.kind == KIND]
    if not found:
        return None
    try:
        call = found[0].call
        if call is None or trace.row_of(call) < 0:
            raise ValueError("there is no such call")
        return LineProfile(trace, call, _files(found[0].data))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TraceError(f"the lines of the run are damaged: {error!r}") from error


def stored_lines(call: int, files: Iterable[FileLines]) -> Profile:
    """Return timed lines as a run file has them."""
    rows = [
        {
            "file": each.file,
            "source": "" if each.file == _MODEL else each.source[:_MAX_SOURCE],
            "lines": [list(line) for line in each.lines],
        }
        for each in files
    ]
    return Profile(KIND, call, {"files": rows}, b"")


def _files(data: Mapping[str, Any]) -> Iterator[FileLines]:
    for each in data["files"]:
        lines = [
            LineHits(int(line), int(hits), int(ns)) for line, hits, ns in each["lines"]
        ]
        if any([not 0 < row.line < _MAX_LINE or row.hits < 0 for row in lines]):
            raise ValueError("a line or its hits are out of range")
        yield FileLines(str(each["file"]), str(each["source"]), tuple(lines))


def _covered(spans: list[Span]) -> int:
    """Return the time in nanoseconds in which any of some calls ran."""
    covered = up_to = 0
    for span in sorted(spans, key=lambda each: each.request_start_ns):
        start = max(up_to, span.request_start_ns)
        covered += max(0, span.request_end_ns - start)
        up_to = max(up_to, span.request_end_ns)
    return covered


def _near_executed(lines: list[TimedLine]) -> list[TimedLine | None]:
    """Return the lines near executed ones; None for others between them."""
    executed = [place for place, line in enumerate(lines) if line.hits]
    near = {
        place
        for each in executed
        for place in range(each - _BESIDE, each + _BESIDE + 1)
        if 0 <= place < len(lines)
    }
    found: list[TimedLine | None] = []
    for place in sorted(near):
        if place and place - 1 not in near:
            found.append(None)
        found.append(lines[place])
    return found


def _row(line: TimedLine | None) -> str:
    if line is None:
        return "…"
    hits = f"{line.hits:,}" if line.hits else ""
    took = f"{line.ms:,.3f} ms" if line.hits else ""
    calls = f"{line.calls_ms:,.3f} ms" if line.calls_ms else ""
    return f"{hits:>9} {took:>12} {calls:>12}  {line.place}  {line.text}".rstrip()
