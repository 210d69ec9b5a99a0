"""The table of all rows, as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.row import Row

HEAD = ("", "blsnb", "beside", "ratio", "goal", "")


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    texts = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(each[place]) for each in texts) for place in range(len(HEAD))]
    for place, cells in enumerate(texts):
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        yield f"| {' | '.join(padded)} |"
        if not place:
            yield f"|{'|'.join('-' * (width + 2) for width in widths)}|"
