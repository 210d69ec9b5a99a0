"""The table of all rows, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.row import Row

HEAD = ("", "blsnb", "compared with", "ratio", "goal", "")


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    texts = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(each[column]) for each in texts) for column in range(len(HEAD))]
    for number, cells in enumerate(texts):
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        yield f"| {' | '.join(padded)} |"
        if not number:
            yield f"|{'|'.join('-' * (width + 2) for width in widths)}|"
