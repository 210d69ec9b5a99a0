"""The result of an evaluation, or of a comparison, as HTML and text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from blsnb.printable import in_columns, printable
from blsnb.views.evaluations.histogram import Distribution, histogram
from blsnb.views.format import cut

_MAX_CELL = 200
"""Maximum number of characters of a cell."""
_LEFT = 'style="text-align:left;vertical-align:top;padding:1px 16px 1px 0"'
_LINE = 'style="line-height:1.4"'
"""Widgets have lines of 28 pixels, the height of a button."""
_TITLE = 'style="margin:8px 0 2px"'


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts; its first column may be the number of a row with a run.

    Parameters
    ----------
    title
        What the rows have in common.
    head
        Names of the columns.
    rows
        The cells of each row.
    runs
        Numbers of data set rows whose runs can be opened, one for each table row;
        empty for a table without runs.
    """

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    runs: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class EvaluationPage:
    """What is shown of an evaluation.

    Parameters
    ----------
    heading
        The model, and what was evaluated.
    facts
        Numbers of rows and failures, and others.
    distributions
        Latency and metrics.
    tables
        Models, errors by text, differences.
    lists
        Tables of rows whose runs were kept.
    notes
        Remarks for the reader.
    """

    heading: str
    facts: Sequence[str]
    distributions: Sequence[Distribution] = ()
    tables: Sequence[Table] = ()
    lists: Sequence[Table] = ()
    notes: Sequence[str] = ()


def html(page: EvaluationPage, *, lists: bool = True) -> str:
    """Return a page as HTML without scripts.

    Parameters
    ----------
    lists
        Whether the lists of rows are included, folded.
    """
    facts = escape(printable(" · ".join(page.facts)))
    pictures = "".join(map(_figure, page.distributions))
    tables = "".join(
        f"<h4 {_TITLE}>{_text(each.title)}</h4>{grid(each)}" for each in page.tables
    )
    folded = "".join(map(_folded, page.lists if lists else ()))
    notes = "".join(f"<div>{_text(note)}</div>" for note in page.notes)
    return (
        f'<div class="blsnb-evaluation" {_LINE}><b>{_text(page.heading)}</b> {facts}'
        f'<div style="display:flex;flex-wrap:wrap;gap:8px 32px;margin:8px 0">'
        f"{pictures}</div>{tables}{folded}{notes}</div>"
    )


def text(page: EvaluationPage) -> str:
    """Return a page as lines of text, without heads of columns and lists of rows."""
    lines = [f"{page.heading}: {', '.join(page.facts)}"]
    lines += [f"  {each.name}: {each.summary}" for each in page.distributions]
    for table in page.tables:
        lines += [table.title, *(f"  {'  '.join(row)}" for row in _cut(table.rows))]
    return "\n".join(map(printable, [*lines, *page.notes]))


def grid(table: Table) -> str:
    """Return a table as HTML."""
    head = "".join(f"<th {_LEFT}>{_text(cell)}</th>" for cell in table.head)
    rows = "".join(
        f"<tr>{''.join(f'<td {_LEFT}>{_text(cell)}</td>' for cell in row)}</tr>"
        for row in _cut(table.rows)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def aligned(table: Table) -> tuple[str, list[str]]:
    """Return the head and the rows of a table as lines with aligned columns."""
    head, *lines = in_columns([table.head, *_cut(table.rows)])
    return head, lines


def _figure(distribution: Distribution) -> str:
    picture = histogram(distribution)
    return (
        f'<figure style="margin:0"><figcaption>{_text(distribution.name)}: '
        f"{_text(distribution.summary)}</figcaption>{picture}</figure>"
    )


def _folded(table: Table) -> str:
    title = escape(short(table.title))
    return f"<details><summary>{title}</summary>{grid(table)}</details>"


def _cut(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return rows with cells of one short line each."""
    return [tuple(map(short, row)) for row in rows]


def short(value: str) -> str:
    """Return a text as one line of limited length."""
    return cut(printable(" ".join(value.split())), _MAX_CELL)


def _text(value: str) -> str:
    return escape(printable(value))
